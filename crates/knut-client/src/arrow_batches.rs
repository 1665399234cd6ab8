//! Puts the rows of an execution together from the responses that carry them. Pure: no I/O.
//!
//! The server says how many rows each batch has and where it starts, and these claims are checked:
//! a result with a part missing must not pass for a whole one.

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;
use knut_proto::spark::connect as proto;
use proto::execute_plan_response::ArrowBatch;

/// How much one batch may take when its chunks are put together. Source: Spark 4.3 sends batches of
/// a few MiB (`spark.connect.grpc.arrow.maxBatchSize`); one larger row makes a larger batch.
const MAX_BATCH_BYTES: usize = 2 << 30;

/// The batches of one result, in order.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    schema: Option<SchemaRef>,
    n_rows: u64,
    chunks: Option<Chunks>,
}

/// A batch of which some chunks are still to come.
#[derive(Debug)]
struct Chunks {
    row_count: i64,
    n_due: i64,
    n_held: i64,
    data: Vec<u8>,
}

impl Assembler {
    /// The columns; `None` before the first whole batch.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }

    /// Takes one response's batch, or its part of one, and gives what is whole; that may be nothing.
    ///
    /// # Errors
    /// What does not fit together. Nothing can be made of the result any more then.
    pub(crate) fn take(&mut self, batch: ArrowBatch) -> Result<Vec<RecordBatch>, String> {
        let ArrowBatch { row_count, data, start_offset, chunk_index, num_chunks_in_batch } = batch;
        // One that is not cut in chunks says nothing of them, or that there is one.
        let n_chunks = num_chunks_in_batch.filter(|n| *n != 0).unwrap_or(1);
        let index = chunk_index.unwrap_or(0);
        if n_chunks < 1 {
            return Err(format!("a batch is said to have {n_chunks} chunks"));
        }
        if self.chunks.is_none() {
            self.check_start(start_offset)?;
        }
        let first = || Chunks { row_count, n_due: n_chunks, n_held: 0, data: Vec::new() };
        let mut chunks = self.chunks.take().unwrap_or_else(first);
        if index != chunks.n_held {
            return Err(format!("chunk {index} of a batch came where chunk {} was due", chunks.n_held));
        }
        if n_chunks != chunks.n_due || row_count != chunks.row_count {
            return Err("two chunks of one batch differ in what they say of it".to_owned());
        }
        if chunks.data.len().saturating_add(data.len()) > MAX_BATCH_BYTES {
            return Err(format!("a batch is larger than {} GiB", MAX_BATCH_BYTES >> 30));
        }
        if chunks.data.is_empty() {
            chunks.data = data;
        } else {
            chunks.data.extend_from_slice(&data);
        }
        chunks.n_held += 1;
        if chunks.n_held < chunks.n_due {
            self.chunks = Some(chunks);
            return Ok(Vec::new());
        }
        self.decode(chunks.data, chunks.row_count)
    }

    /// Whether the result may end here.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) fn finish(&self) -> Result<(), String> {
        match &self.chunks {
            Some(chunks) => {
                Err(format!("the result ended after {} of a batch's {} chunks", chunks.n_held, chunks.n_due))
            }
            None => Ok(()),
        }
    }

    fn check_start(&self, start_offset: Option<i64>) -> Result<(), String> {
        match start_offset {
            Some(start) if u64::try_from(start) != Ok(self.n_rows) => {
                Err(format!("a batch starts at row {start} where row {} was due", self.n_rows))
            }
            _ => Ok(()),
        }
    }

    fn decode(&mut self, data: Vec<u8>, row_count: i64) -> Result<Vec<RecordBatch>, String> {
        let unreadable = |error| format!("a batch is no Arrow stream: {error}");
        let reader = StreamReader::try_new(Cursor::new(data), None).map_err(unreadable)?;
        let schema = reader.schema();
        match &self.schema {
            Some(first) if *first != schema => return Err("a batch has other columns than the first one".to_owned()),
            Some(_) => {}
            None => self.schema = Some(schema),
        }
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        let n_rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        if u64::try_from(row_count) != Ok(n_rows) {
            return Err(format!("a batch has {n_rows} rows where the server says {row_count}"));
        }
        self.n_rows += n_rows;
        Ok(batches.into_iter().filter(|batch| batch.num_rows() > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    fn ipc(column: &str, values: Vec<i64>) -> Vec<u8> {
        let column = (column, Arc::new(Int64Array::from(values)) as ArrayRef);
        let batch = RecordBatch::try_from_iter([column]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn whole(values: Vec<i64>, start_offset: Option<i64>) -> ArrowBatch {
        let row_count = i64::try_from(values.len()).unwrap();
        ArrowBatch { row_count, data: ipc("id", values), start_offset, ..ArrowBatch::default() }
    }

    /// `data` in `n` chunks.
    fn chunked(batch: &ArrowBatch, n: usize) -> Vec<ArrowBatch> {
        let size = batch.data.len().div_ceil(n);
        let part = |(index, data): (usize, &[u8])| ArrowBatch {
            data: data.to_vec(),
            chunk_index: i64::try_from(index).ok(),
            num_chunks_in_batch: i64::try_from(n).ok(),
            ..batch.clone()
        };
        batch.data.chunks(size).enumerate().map(part).collect()
    }

    fn take_all(parts: impl IntoIterator<Item = ArrowBatch>) -> Result<Vec<i64>, String> {
        let mut assembler = Assembler::default();
        let mut values = Vec::new();
        for part in parts {
            for batch in assembler.take(part)? {
                let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
                values.extend(column.values().iter().copied());
            }
        }
        assembler.finish()?;
        Ok(values)
    }

    #[test]
    fn batches_and_chunks_become_rows_in_order() {
        assert_eq!(take_all([whole(vec![], Some(0))]), Ok(vec![]));
        assert_eq!(take_all([whole(vec![1, 2], Some(0)), whole(vec![3], Some(2))]), Ok(vec![1, 2, 3]));
        assert_eq!(take_all([whole(vec![1], None), whole(vec![2], None)]), Ok(vec![1, 2]));
        let mut parts = chunked(&whole(vec![1, 2, 3], Some(0)), 4);
        parts.extend(chunked(&whole(vec![4], Some(3)), 1));
        assert_eq!(take_all(parts), Ok(vec![1, 2, 3, 4]));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let refused = |parts: Vec<ArrowBatch>, why: &str| {
            let error = take_all(parts).unwrap_err();
            assert!(error.contains(why), "{error} is not {why}");
        };
        let first = whole(vec![1, 2], Some(0));
        let parts = chunked(&first, 3);
        refused(vec![first.clone(), whole(vec![3], Some(3))], "starts at row 3 where row 2");
        refused(vec![first.clone(), whole(vec![3], Some(-1))], "starts at row -1");
        refused(vec![ArrowBatch { row_count: 3, ..first.clone() }], "has 2 rows where the server says 3");
        refused(vec![ArrowBatch { row_count: -1, ..first.clone() }], "the server says -1");
        refused(vec![parts[0].clone(), parts[2].clone()], "chunk 2 of a batch came where chunk 1");
        refused(vec![parts[1].clone()], "chunk 1 of a batch came where chunk 0");
        refused(vec![parts[0].clone(), parts[0].clone()], "chunk 0 of a batch came where chunk 1");
        refused(parts[..2].to_vec(), "ended after 2 of a batch's 3 chunks");
        let other = ArrowBatch { num_chunks_in_batch: Some(4), ..parts[1].clone() };
        refused(vec![parts[0].clone(), other], "differ in what they say");
        refused(vec![ArrowBatch { num_chunks_in_batch: Some(-2), ..parts[0].clone() }], "-2 chunks");
        refused(vec![parts[0].clone(), first.clone()], "came where chunk 1");
        refused(vec![ArrowBatch { data: b"no arrow".to_vec(), ..first.clone() }], "no Arrow stream");
        let renamed = ArrowBatch { data: ipc("other", vec![3]), row_count: 1, ..ArrowBatch::default() };
        refused(vec![first, renamed], "other columns");
    }
}
