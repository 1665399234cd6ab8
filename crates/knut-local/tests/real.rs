//! Real servers, on the shared installation: `KNUT_HOME`, else knut's default home. It is installed if it is not there.

mod support;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use knut_local::{
    Address, ErrorKind, Home, InstallOptions, Installation, JavaSearch, Progress, ProjectFolder, Server, ServerOptions,
    Status, Stopped,
};
use support::{contains, execute, probe};

fn installation() -> Installation {
    let home = Home::from_env().unwrap();
    knut_local::install(&home, &InstallOptions::default(), &mut |_| ()).unwrap()
}

/// A project whose server is ended when the test ends, however it ends.
struct Project {
    folder: ProjectFolder,
    _temporary: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        Self::named("project")
    }

    fn named(name: &str) -> Self {
        let temporary = tempfile::Builder::new().prefix("knut-test").tempdir().unwrap();
        let root = temporary.path().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { folder: ProjectFolder::new(root).unwrap(), _temporary: temporary }
    }

    fn start(&self) -> Server {
        self.start_with(&ServerOptions::default()).unwrap()
    }

    fn start_with(&self, options: &ServerOptions) -> knut_local::Result<Server> {
        let start = Instant::now();
        let server = knut_local::start(&installation(), &self.folder, options, &mut probe, &mut |_| ());
        if let Ok(server) = &server {
            let (pid, java) = (server.pid(), server.java_version());
            println!("process {pid} on Java {java} answered after {:?}", start.elapsed());
        }
        server
    }

    fn stop(&self) -> Stopped {
        knut_local::stop(&self.folder, &mut |_| ()).unwrap()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let stopped = knut_local::stop(&self.folder, &mut |_| ());
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.log_path()).unwrap_or_default();
            println!("{stopped:?}\n{log}");
        }
    }
}

fn run(address: &Address, sql: &str) {
    assert!(!execute(address, sql).is_empty(), "{sql}");
}

#[test]
fn a_server_starts_is_reused_and_stops_and_its_tables_stay() {
    let project = Project::new();
    let first = project.start();
    assert!(!first.is_reused());
    assert_eq!(first.spark_version(), knut_local::SPARK_VERSION);
    let Status::Running(found) = Server::find(&project.folder).unwrap() else {
        panic!("it runs");
    };
    assert_eq!((found.pid(), found.address()), (first.pid(), first.address()));
    let second = project.start();
    assert!(second.is_reused());
    assert_eq!((second.pid(), second.address()), (first.pid(), first.address()));

    run(first.address(), "CREATE TABLE t (s STRING)");
    run(first.address(), "INSERT INTO t VALUES ('first-marker')");
    let pid = first.pid();
    assert_eq!(project.stop(), Stopped::Ended { pid, killed: false });
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);
    assert_eq!(project.stop(), Stopped::NotRunning);
    assert!(first.log_path().is_file(), "its log is kept");

    let third = project.start();
    assert_ne!(third.address().token(), first.address().token());
    run(third.address(), "INSERT INTO t VALUES ('second-marker')");
    let rows = execute(third.address(), "SELECT * FROM t");
    assert!(contains(&rows, "first-marker") && contains(&rows, "second-marker"));

    let litter: Vec<_> = fs::read_dir(project.folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(litter, [".knut"], "everything is in one folder");
}
