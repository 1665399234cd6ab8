//! Flows that apply the changes of a source to their target, row by row, instead of appending.
//!
//! Spark 4.2 knows SCD type 1, Spark 4.3 type 2 too. The target must be in a format that can merge
//! rows, such as Delta or Iceberg; the server finds out only when the flow runs.

use std::fmt;

use crate::Identifier;

/// How the changes of a source are applied. Source: Spark 4.3, `DefineFlow.AutoCdcFlowDetails`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AutoCdc {
    /// The dataset or table whose rows are the changes, as its author wrote it; it is read as a stream.
    pub source: String,
    /// The columns that say which row a change is for; at least one.
    pub keys: Vec<String>,
    /// A SQL expression: of two changes for one row, the one with the higher value counts.
    pub sequence_by: String,
    /// A SQL expression that is true for changes that delete their row; `None` deletes nothing.
    pub apply_as_deletes: Option<String>,
    /// Which columns of the source go into the target.
    pub columns: CdcColumns,
    /// Whether the target keeps history.
    pub scd_type: ScdType,
    /// Which columns make a new version of a row when they change; only for [`ScdType::Two`].
    pub track_history: CdcColumns,
}

/// A choice of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CdcColumns {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

/// How a slowly changing dimension keeps its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScdType {
    /// One row per key, overwritten by each change.
    #[default]
    One,
    /// A row per key and version, with the times from and to which it held.
    Two,
}

impl AutoCdc {
    /// Changes from `source` for the rows that `keys` name, in the order of `sequence_by`.
    pub fn new<S: Into<String>>(
        source: impl Into<String>,
        keys: impl IntoIterator<Item = S>,
        sequence_by: impl Into<String>,
    ) -> Self {
        Self {
            source: source.into(),
            keys: keys.into_iter().map(Into::into).collect(),
            sequence_by: sequence_by.into(),
            apply_as_deletes: None,
            columns: CdcColumns::All,
            scd_type: ScdType::One,
            track_history: CdcColumns::All,
        }
    }

    /// Deletes the row when this SQL expression is true.
    #[must_use]
    pub fn apply_as_deletes(mut self, condition: impl Into<String>) -> Self {
        self.apply_as_deletes = Some(condition.into());
        self
    }

    /// Chooses the columns of the target.
    #[must_use]
    pub fn columns(mut self, columns: CdcColumns) -> Self {
        self.columns = columns;
        self
    }

    /// Keeps history, with a new version of a row when one of `track_history` changes.
    #[must_use]
    pub fn scd_type_2(mut self, track_history: CdcColumns) -> Self {
        self.scd_type = ScdType::Two;
        self.track_history = track_history;
        self
    }
}

/// What is wrong with one flow that applies changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AutoCdcProblem {
    /// The source has no usable name.
    Source(crate::IdentifierError),
    /// There are no keys.
    NoKeys,
    /// Nothing says which change comes first.
    NoSequence,
    /// A list of columns is there but empty.
    EmptyList(&'static str),
    /// A column is not the name of one column.
    NotAColumn {
        /// In which list.
        list: &'static str,
        /// What stands there.
        column: String,
    },
    /// History is tracked though the target keeps none.
    HistoryWithoutScd2,
}

impl fmt::Display for AutoCdcProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(value) => write!(f, "its source is not a name: {value}"),
            Self::NoKeys => f.write_str("it has no key columns"),
            Self::NoSequence => f.write_str("it has no expression to sequence by"),
            Self::EmptyList(value) => write!(f, "its {value} is empty: leave it out to mean all columns"),
            Self::NotAColumn { list, column } => write!(f, "`{column}` in its {list} is not the name of one column"),
            Self::HistoryWithoutScd2 => f.write_str("it tracks history, which only SCD type 2 keeps"),
        }
    }
}

impl std::error::Error for AutoCdcProblem {}

/// Everything wrong with a flow that applies changes, in a stable order.
pub(crate) fn problems_of(cdc: &AutoCdc) -> Vec<AutoCdcProblem> {
    let mut problems = Vec::new();
    if let Err(error) = Identifier::parse(&cdc.source) {
        problems.push(AutoCdcProblem::Source(error));
    }
    if cdc.keys.is_empty() {
        problems.push(AutoCdcProblem::NoKeys);
    }
    check_columns("keys", &cdc.keys, &mut problems);
    if cdc.sequence_by.trim().is_empty() {
        problems.push(AutoCdcProblem::NoSequence);
    }
    check_choice("column list", &cdc.columns, &mut problems);
    check_choice("track history list", &cdc.track_history, &mut problems);
    if cdc.scd_type == ScdType::One && cdc.track_history != CdcColumns::All {
        problems.push(AutoCdcProblem::HistoryWithoutScd2);
    }
    problems
}

fn check_choice(list: &'static str, choice: &CdcColumns, problems: &mut Vec<AutoCdcProblem>) {
    if let CdcColumns::Only(columns) | CdcColumns::Except(columns) = choice {
        if columns.is_empty() {
            problems.push(AutoCdcProblem::EmptyList(list));
        }
        check_columns(list, columns, problems);
    }
}

fn check_columns(list: &'static str, columns: &[String], problems: &mut Vec<AutoCdcProblem>) {
    for column in columns {
        if !Identifier::parse(column).is_ok_and(|name| name.is_single_part()) {
            problems.push(AutoCdcProblem::NotAColumn { list, column: column.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C040
    #[test]
    fn what_the_reference_refuses_is_refused() {
        let good = AutoCdc::new("changes", ["id"], "at");
        assert_eq!(problems_of(&good), []);
        let history = CdcColumns::Only(vec!["price".to_owned()]);
        assert_eq!(problems_of(&good.clone().scd_type_2(history.clone())), []);
        let bad = AutoCdc {
            keys: vec!["a.b".to_owned()],
            sequence_by: " ".to_owned(),
            columns: CdcColumns::Except(vec![]),
            track_history: history,
            ..AutoCdc::new("", Vec::<String>::new(), "")
        };
        let told: Vec<_> = problems_of(&bad).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "its source is not a name: `` is not a valid name: it is empty",
                "`a.b` in its keys is not the name of one column",
                "it has no expression to sequence by",
                "its column list is empty: leave it out to mean all columns",
                "it tracks history, which only SCD type 2 keeps"
            ]
        );
        assert_eq!(problems_of(&AutoCdc { keys: vec![], ..good }), [AutoCdcProblem::NoKeys]);
    }
}
