//! Datasets, flows and dataflow graphs of Spark Declarative Pipelines, without gRPC.
