//! Reads a Spark Declarative Pipelines project into a dataflow graph.
