//! What the server is told it need not keep.
//!
//! It keeps what it sent, so that a client can attach again. Rows pile up, and so it is told now and
//! then up to where they were consumed: one call at a time, always with the newest id.

use std::time::Duration;

use tokio::time::Instant;

/// How much may be kept for nothing.
const MAX_BYTES: usize = 4 << 20;
/// How long it may be kept for nothing.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Which response to release up to, and when.
#[derive(Debug, Default)]
pub(crate) struct Releaser {
    /// The response that the caller was given last. It is consumed once the caller asks for more.
    given: Option<(String, usize)>,
    /// The newest consumed response that was not released yet.
    newest: Option<String>,
    n_bytes: usize,
    oldest: Option<Instant>,
    is_in_flight: bool,
}

impl Releaser {
    /// The caller is given this response, and is done with the one before it.
    pub(crate) fn give(&mut self, response_id: &str, n_bytes: usize, now: Instant) {
        self.consume(now);
        self.given = Some((response_id.to_owned(), n_bytes));
    }

    /// The caller asks for more, so it is done with what it was given.
    pub(crate) fn consume(&mut self, now: Instant) {
        if let Some((id, n_bytes)) = self.given.take() {
            self.newest = Some(id);
            self.n_bytes += n_bytes;
            self.oldest.get_or_insert(now);
        }
    }

    /// When a release is due, if nothing more comes; `None` if there is nothing to release or a
    /// release is under way.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        let oldest = self.oldest.filter(|_| !self.is_in_flight)?;
        Some(if self.n_bytes >= MAX_BYTES { oldest } else { oldest + MAX_AGE })
    }

    /// Takes the response to release up to, if a release is due. One is then under way until
    /// [`done`](Self::done).
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<String> {
        self.due_at().filter(|due| *due <= now)?;
        (self.n_bytes, self.oldest, self.is_in_flight) = (0, None, true);
        self.newest.take()
    }

    /// The release under way has come back, with whatever result.
    pub(crate) fn done(&mut self) {
        self.is_in_flight = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_release_at_a_time_of_the_newest_that_was_consumed() {
        let mut releaser = Releaser::default();
        let start = Instant::now();
        let later = start + MAX_AGE;
        releaser.give("a", 10, start);
        assert_eq!(releaser.take_due(later), None, "the caller still holds it");
        releaser.give("b", 10, start);
        assert_eq!(releaser.take_due(start), None, "too early");
        releaser.give("c", 10, start);
        assert_eq!(releaser.take_due(later).as_deref(), Some("b"));
        releaser.give("d", 10, later);
        assert_eq!(releaser.take_due(later + MAX_AGE), None, "one is under way");
        releaser.done();
        assert_eq!(releaser.take_due(later + MAX_AGE).as_deref(), Some("c"));
        releaser.done();
        assert_eq!(releaser.due_at(), None);
    }

    #[test]
    fn much_is_released_at_once() {
        let mut releaser = Releaser::default();
        let now = Instant::now();
        releaser.give("a", MAX_BYTES, now);
        releaser.consume(now);
        assert_eq!(releaser.take_due(now).as_deref(), Some("a"));
    }
}
