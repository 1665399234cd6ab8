//! Recorded responses of real runs, from `tests/fixtures/recordings`.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use knut_proto::spark::connect as proto;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// One recorded response.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// When it was received; recordings count from the epoch.
    pub received: SystemTime,
    /// The response.
    pub response: proto::ExecutePlanResponse,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate stands in the workspace").to_owned()
}

/// Reads the recording `name`, such as `good` or `big`.
pub fn read(name: &str) -> Vec<Recorded> {
    let folder = workspace().join("tests/fixtures/recordings");
    let plain = folder.join(format!("{name}.jsonl"));
    let text = if plain.exists() {
        std::fs::read_to_string(plain).unwrap()
    } else {
        let packed = std::fs::File::open(folder.join(format!("{name}.jsonl.gz"))).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        text
    };
    let descriptor = schema().get_message_by_name("spark.connect.ExecutePlanResponse").unwrap();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let line: Line = serde_json::from_str(line).unwrap();
            let message = DynamicMessage::deserialize(descriptor.clone(), line.r).unwrap();
            let response = proto::ExecutePlanResponse::decode(message.encode_to_vec().as_slice()).unwrap();
            Recorded { received: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(line.t), response }
        })
        .collect()
}

#[derive(serde::Deserialize)]
struct Line {
    t: f64,
    r: serde_json::Value,
}

/// The schema under `proto/`.
fn schema() -> DescriptorPool {
    let folder = workspace().join("proto");
    let files = protox::compile(["spark/connect/base.proto"], [folder]).unwrap();
    DescriptorPool::from_file_descriptor_set(files).unwrap()
}
