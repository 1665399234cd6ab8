//! How long to wait before something is tried again, and how often.

use std::time::Duration;

/// When to try again after the connection broke. The default is the reference's policy: 15 tries in
/// about ten minutes, more when the server asks for longer waits.
///
/// A run that nobody is attached to is interrupted by the server after five minutes; to come back
/// later still tells how it ended. The tries are counted anew after every response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How many tries without a response in between.
    pub max_retries: u32,
    /// The wait before the first try.
    pub first_wait: Duration,
    /// By how much each wait is longer than the one before.
    pub multiplier: u32,
    /// The longest wait without the server asking for one.
    pub max_wait: Duration,
    /// How much is added at most, at random, to waits of [`jitter_from`](Self::jitter_from) or
    /// more, so that many clients do not come back at once.
    pub max_jitter: Duration,
    /// The shortest wait that gets jitter.
    pub jitter_from: Duration,
    /// The longest wait that a server can ask for.
    pub max_server_delay: Duration,
    /// How long a stream may be silent before the server is asked whether the execution still runs,
    /// and another stream is opened. By itself the server ends each after two minutes.
    pub silence: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 15,
            first_wait: Duration::from_millis(50),
            multiplier: 4,
            max_wait: Duration::from_mins(1),
            max_jitter: Duration::from_millis(500),
            jitter_from: Duration::from_secs(2),
            max_server_delay: Duration::from_mins(10),
            silence: Duration::from_mins(3),
        }
    }
}

impl RetryPolicy {
    /// No second try after something broke. A stream that only ended is followed on all the same.
    pub fn never() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// The wait before the `attempt`th try, counted from 1. `server_delay` is what the server asked
    /// for, `jitter` random from 0 to 1.
    pub(crate) fn wait(&self, attempt: u32, server_delay: Option<Duration>, jitter: f64) -> Duration {
        let factor = self.multiplier.saturating_pow(attempt.saturating_sub(1));
        let wait = self.first_wait.saturating_mul(factor).min(self.max_wait);
        let wait = wait.max(server_delay.unwrap_or_default().min(self.max_server_delay));
        if wait < self.jitter_from {
            wait
        } else {
            wait.saturating_add(self.max_jitter.mul_f64(jitter.clamp(0.0, 1.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_a_floor_a_cap_and_jitter() {
        let policy = RetryPolicy::default();
        let wait = |attempt, delay, jitter| policy.wait(attempt, delay, jitter).as_millis();
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 40].map(|n| wait(n, None, 0.0)),
            [50, 200, 800, 3200, 12800, 51200, 60000, 60000]
        );
        assert_eq!(wait(1, Some(Duration::from_secs(3)), 1.0), 3500);
        assert_eq!(wait(1, Some(Duration::from_hours(10)), 0.0), 600_000);
        assert_eq!(wait(3, None, 1.0), 800);
    }
}
