//! A Spark Connect client for Spark Declarative Pipelines.
