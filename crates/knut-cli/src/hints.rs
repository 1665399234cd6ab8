//! What to do next about an error of the server, by its error class or its JVM class.

use knut_client::{Error, ErrorKind};
use knut_viewer::Diagnostic;

/// What to do about a call that failed; `None` when its text says all.
pub(crate) fn for_error(error: &Error) -> Option<String> {
    if let Some(server) = error.server() {
        return for_server(server.error_class.as_deref(), server.classes.first().map(String::as_str))
            .map(str::to_owned);
    }
    let hint = match error.kind() {
        ErrorKind::Transport | ErrorKind::Timeout => {
            "check that the server is running and its port is right, or use the one on this machine with --local"
        }
        ErrorKind::Auth => {
            "give the server's token: `;token=…` in the connection string, or SPARK_CONNECT_AUTHENTICATE_TOKEN"
        }
        ErrorKind::Unsupported => "give the address of a Spark Connect server of Spark 4.1 or later",
        ErrorKind::Usage => "a connection string looks like sc://host:15002/;token=…",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What to do about an error of a run; `None` when its text says all.
pub(crate) fn for_diagnostic(diagnostic: &Diagnostic) -> Option<&'static str> {
    for_server(diagnostic.error_class.as_deref(), diagnostic.exception.as_deref())
}

fn for_server(error_class: Option<&str>, exception: Option<&str>) -> Option<&'static str> {
    let by_exception = || match exception?.rsplit(['.', '$']).next()? {
        "CircularDependencyException" => Some("take one of these reads out of its query: a pipeline has no cycles"),
        "UnresolvedPipelineException" => {
            Some("mend the flows above and run again; `knut dry-run` checks without running")
        }
        _ => None,
    };
    let Some(error_class) = error_class else { return by_exception() };
    let hint = match error_class {
        "SCHEMA_NOT_FOUND" => {
            "a pipeline does not create its schema: run `knut sql 'CREATE DATABASE …'` first, or change `database` in the spec"
        }
        "CATALOG_NOT_FOUND" => "change `catalog` in the spec, or configure that catalog on the server",
        "RUN_EMPTY_PIPELINE" => {
            "define at least one materialized view or streaming table in the files of the spec's `libraries`"
        }
        "PIPELINE_DATASET_WITHOUT_FLOW" => {
            "give the table a query with `AS SELECT …`, or a `CREATE FLOW … AS INSERT INTO … BY NAME`"
        }
        "INVALID_FLOW_QUERY_TYPE.BATCH_RELATION_FOR_STREAMING_TABLE" => {
            "read at least one input as a stream, `FROM STREAM name`; files become a stream through a source in knut.toml"
        }
        "INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_MATERIALIZED_VIEW" => {
            "take the word STREAM out, or make it a streaming table"
        }
        "PIPELINE_STORAGE_ROOT_INVALID" => {
            "`storage` must be an absolute URI with a scheme, such as file:///… or s3a://…"
        }
        "LOCATION_ALREADY_EXISTS" => {
            "files of an earlier table are in the way: the catalog forgot the table, its folder is still there"
        }
        "CONCURRENT_QUERY" => "another run of this pipeline is going on; wait for its end and run again",
        "TABLE_OR_VIEW_NOT_FOUND" => "check the spelling; names of other schemas need their prefix",
        "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT" | "PIPELINE_DUPLICATE_IDENTIFIERS.FLOW" => {
            "give one of the two another name"
        }
        "CANNOT_MODIFY_STATIC_CONFIG" => {
            "take that conf out of `configuration`: it can only be set when the server is started"
        }
        _ => return by_exception(),
    };
    Some(hint)
}
