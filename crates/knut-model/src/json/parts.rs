//! The form of a graph's parts.
//!
//! What is at its default is left out, in writing and in reading. A field that is not known is an
//! error: a misspelt `partition_columns` must not pass for a table without partitions.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::unique_map;
use crate::{
    AutoCdc, CdcColumns, DatasetKind, Identifier, IdentifierError, Query, ScdType, SourceLocation, SourceRead, SqlFile,
};

/// Gives a type of the model serde's traits through the type here that has its form.
macro_rules! has_the_form_of {
    ($($model:ty => $form:ident),* $(,)?) => {$(
        impl Serialize for $model {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $form::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $model {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $form::deserialize(deserializer)
            }
        }
    )*};
}

has_the_form_of! {
    DatasetKind => KindForm,
    SourceLocation => LocationForm,
    SqlFile => SqlFileForm,
    SourceRead => SourceReadForm,
    CdcColumns => CdcColumnsForm,
    AutoCdc => AutoCdcForm,
}

/// The text of the name, as in SQL.
impl Serialize for Identifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Identifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// 1 or 2.
impl Serialize for ScdType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::One => 1,
            Self::Two => 2,
        })
    }
}

impl<'de> Deserialize<'de> for ScdType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            other => Err(D::Error::custom(format!("`scd_type` is 1 or 2, not {other}"))),
        }
    }
}

impl Serialize for Query {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        QueryForm::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Query {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        QueryForm::deserialize(deserializer)?.query().map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "DatasetKind", rename_all = "snake_case")]
enum KindForm {
    StreamingTable,
    MaterializedView,
    TemporaryView,
    PersistedView,
    Sink,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SourceLocation", deny_unknown_fields)]
struct LocationForm {
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SqlFile", deny_unknown_fields)]
struct SqlFileForm {
    path: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SourceRead", deny_unknown_fields)]
struct SourceReadForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map::deserialize")]
    options: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_default")]
    streaming: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CdcColumns", rename_all = "snake_case")]
enum CdcColumnsForm {
    All,
    Only(Vec<String>),
    Except(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AutoCdc", deny_unknown_fields)]
struct AutoCdcForm {
    source: String,
    keys: Vec<String>,
    sequence_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    apply_as_deletes: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    columns: CdcColumns,
    #[serde(default, skip_serializing_if = "is_default")]
    scd_type: ScdType,
    #[serde(default, skip_serializing_if = "is_default")]
    track_history: CdcColumns,
}

/// A query. Its names are texts, so that a graph can tell all names that are wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum QueryForm {
    Sql {
        sql: String,
    },
    SqlOver {
        sql: String,
        #[serde(default, deserialize_with = "unique_map::deserialize")]
        inputs: BTreeMap<String, SourceRead>,
    },
    Source(SourceRead),
    Table {
        name: String,
        #[serde(default, skip_serializing_if = "is_default")]
        streaming: bool,
    },
    AutoCdc(AutoCdc),
}

impl From<&Query> for QueryForm {
    fn from(query: &Query) -> Self {
        match query.clone() {
            Query::Sql(sql) => Self::Sql { sql },
            Query::SqlOver { sql, inputs } => Self::SqlOver { sql, inputs },
            Query::Source(read) => Self::Source(read),
            Query::Table { name, streaming } => Self::Table { name: name.to_string(), streaming },
            Query::AutoCdc(cdc) => Self::AutoCdc(cdc),
        }
    }
}

impl QueryForm {
    /// # Errors
    /// When the table that it reads has no usable name.
    pub(super) fn query(self) -> Result<Query, IdentifierError> {
        Ok(match self {
            Self::Sql { sql } => Query::Sql(sql),
            Self::SqlOver { sql, inputs } => Query::SqlOver { sql, inputs },
            Self::Source(read) => Query::Source(read),
            Self::Table { name, streaming } => Query::Table { name: Identifier::parse(&name)?, streaming },
            Self::AutoCdc(cdc) => Query::AutoCdc(cdc),
        })
    }
}

/// Whether a value is what stands for a field that is left out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
