//! One value of a row, read from its Arrow array, and as Spark shows it.
//!
//! The arrays come from a server: a type that is not known is told by its name, and nothing panics.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use knut_client::arrow_array::Array;
use knut_client::arrow_array::cast::AsArray as _;
use knut_client::arrow_array::types::{
    Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, IntervalYearMonthType, Time64NanosecondType, TimestampMicrosecondType,
};
use knut_client::arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// A number in digits; `NaN` and the infinities too.
    Number(String),
    Text(Cow<'a, str>),
    Binary(&'a [u8]),
    /// A time, as Spark shows it and in ISO 8601.
    Moment {
        shown: String,
        iso: String,
    },
    List(Vec<Value<'a>>),
    Struct(Vec<(&'a str, Value<'a>)>),
    Map(Vec<(Value<'a>, Value<'a>)>),
}

/// The value in a row of a column.
pub(super) fn value(array: &dyn Array, row: usize) -> Value<'_> {
    if row >= array.len() || array.is_null(row) {
        return Value::Null;
    }
    known(array, row).unwrap_or_else(|| Value::Text(format!("<{}>", array.data_type()).into()))
}

/// `None` for a type that Spark does not send, or an array that is not what it says it is.
fn known(array: &dyn Array, row: usize) -> Option<Value<'_>> {
    Some(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean_opt()?.value(row)),
        DataType::Int8 => Value::Number(array.as_primitive_opt::<Int8Type>()?.value(row).to_string()),
        DataType::Int16 => Value::Number(array.as_primitive_opt::<Int16Type>()?.value(row).to_string()),
        DataType::Int32 => Value::Number(array.as_primitive_opt::<Int32Type>()?.value(row).to_string()),
        DataType::Int64 => Value::Number(array.as_primitive_opt::<Int64Type>()?.value(row).to_string()),
        DataType::Float32 => {
            let number = array.as_primitive_opt::<Float32Type>()?.value(row);
            Value::Number(float(f64::from(number), &number.to_string(), &format!("{number:e}")))
        }
        DataType::Float64 => {
            let number = array.as_primitive_opt::<Float64Type>()?.value(row);
            Value::Number(float(number, &number.to_string(), &format!("{number:e}")))
        }
        DataType::Decimal128(..) => Value::Number(array.as_primitive_opt::<Decimal128Type>()?.value_as_string(row)),
        DataType::Utf8 => Value::Text(array.as_string_opt::<i32>()?.value(row).into()),
        DataType::LargeUtf8 => Value::Text(array.as_string_opt::<i64>()?.value(row).into()),
        DataType::Binary => Value::Binary(array.as_binary_opt::<i32>()?.value(row)),
        DataType::LargeBinary => Value::Binary(array.as_binary_opt::<i64>()?.value(row)),
        DataType::Date32 => date(array.as_primitive_opt::<Date32Type>()?.value(row)),
        DataType::Time64(TimeUnit::Nanosecond) => {
            let text = clock(array.as_primitive_opt::<Time64NanosecondType>()?.value(row));
            Value::Moment { shown: text.clone(), iso: text }
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            timestamp(array.as_primitive_opt::<TimestampMicrosecondType>()?.value(row), zone.as_deref())
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            Value::Text(day_time(array.as_primitive_opt::<DurationMicrosecondType>()?.value(row)).into())
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            Value::Text(year_month(array.as_primitive_opt::<IntervalYearMonthType>()?.value(row)).into())
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let parts = array.as_primitive_opt::<IntervalMonthDayNanoType>()?.value(row);
            Value::Text(calendar(parts.months, parts.days, parts.nanoseconds).into())
        }
        DataType::List(_) => {
            let list = array.as_list_opt::<i32>()?;
            let (from, to) = (*list.value_offsets().get(row)?, *list.value_offsets().get(row + 1)?);
            let rows = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
            Value::List(rows.map(|row| value(list.values(), row)).collect())
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct_opt()?.columns();
            let pairs = fields.iter().zip(columns);
            Value::Struct(pairs.map(|(field, column)| (field.name().as_str(), value(column, row))).collect())
        }
        DataType::Map(..) => {
            let map = array.as_map_opt()?;
            let (from, to) = (*map.value_offsets().get(row)?, *map.value_offsets().get(row + 1)?);
            let rows = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
            Value::Map(rows.map(|row| (value(map.keys(), row), value(map.values(), row))).collect())
        }
        _ => return None,
    })
}

/// A floating-point number in Java's spelling, which is Spark's: `1.0`, `1.0E10`, `Infinity`.
fn float(number: f64, plain: &str, scientific: &str) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let pointed = |digits: &str| if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") };
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        return pointed(plain);
    }
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => format!("{}E{exponent}", pointed(mantissa)),
        None => pointed(plain),
    }
}

/// A year as Spark writes it: `0001`, `-0044`, `+12345`.
fn date(days: i32) -> Value<'static> {
    let seconds = i64::from(days) * 86_400;
    match Timestamp::from_second(seconds) {
        Ok(at) => {
            let text = Offset::UTC.to_datetime(at).date().to_string();
            Value::Moment { shown: text.clone(), iso: text }
        }
        // Spark's range is larger than the calendar's that is at hand.
        Err(_) => Value::Text(format!("<{days} days after 1970-01-01>").into()),
    }
}

/// A point in time in `zone`, or a time of no zone.
fn timestamp(micros: i64, zone: Option<&str>) -> Value<'static> {
    let Ok(at) = Timestamp::from_microsecond(micros) else {
        return Value::Text(format!("<{micros} µs after 1970-01-01>").into());
    };
    let Some(zone) = zone else {
        let civil = Offset::UTC.to_datetime(at);
        return Value::Moment { shown: moment(civil, ' '), iso: moment(civil, 'T') };
    };
    // A zone that is not known here is shown in UTC, and says so.
    let Some(zone) = time_zone(zone) else {
        let civil = Offset::UTC.to_datetime(at);
        return Value::Moment { shown: format!("{}Z", moment(civil, ' ')), iso: format!("{}Z", moment(civil, 'T')) };
    };
    let (civil, offset) = (zone.to_datetime(at), zone.to_offset(at));
    let offset = if offset.is_zero() { "Z".to_owned() } else { colons(offset) };
    Value::Moment { shown: moment(civil, ' '), iso: format!("{}{offset}", moment(civil, 'T')) }
}

fn colons(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    let seconds = if seconds == 0 { String::new() } else { format!(":{seconds:02}") };
    format!("{sign}{hours:02}:{minutes:02}{seconds}")
}

/// A zone by its name, or by its offset as Java spells them: `+02:00`, `UTC+2`, `GMT-03:30`.
fn time_zone(name: &str) -> Option<TimeZone> {
    if let Ok(zone) = TimeZone::get(name) {
        return Some(zone);
    }
    let offset = ["UTC", "GMT", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    if matches!(offset, "" | "Z") {
        return Some(TimeZone::UTC);
    }
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let mut parts = offset.strip_prefix(['+', '-'])?.split(':');
    let mut part = |worth: i32| match parts.next() {
        Some(digits) => Some(i32::from(digits.parse::<u8>().ok()?) * worth),
        None => Some(0),
    };
    let seconds = part(3600)? + part(60)? + part(1)?;
    Some(TimeZone::fixed(Offset::from_seconds(sign * seconds).ok()?))
}

/// A date and time with as many decimals as it needs.
fn moment(civil: DateTime, between: char) -> String {
    let nanos = SignedDuration::from_nanos(i64::from(civil.subsec_nanosecond()))
        + SignedDuration::from_secs(
            i64::from(civil.hour()) * 3600 + i64::from(civil.minute()) * 60 + i64::from(civil.second()),
        );
    format!("{}{between}{}", civil.date(), clock(i64::try_from(nanos.as_nanos()).unwrap_or_default()))
}

/// A time of day in nanoseconds.
fn clock(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    text + &decimals(nanos.unsigned_abs() % 1_000_000_000, 9)
}

/// The decimals of a second, from the point on; nothing if they are zero.
fn decimals(part: u64, n_digits: usize) -> String {
    if part == 0 { String::new() } else { format!(".{part:0n_digits$}").trim_end_matches('0').to_owned() }
}

fn day_time(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let seconds = micros / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let (second, part) = (seconds % 60, decimals(micros % 1_000_000, 6));
    format!("INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{second:02}{part}' DAY TO SECOND")
}

fn year_month(months: i32) -> String {
    let sign = if months < 0 { "-" } else { "" };
    let months = months.unsigned_abs();
    format!("INTERVAL '{sign}{}-{}' YEAR TO MONTH", months / 12, months % 12)
}

fn calendar(months: i32, days: i32, nanos: i64) -> String {
    let (seconds, part) = (nanos / 1_000_000_000, decimals(nanos.unsigned_abs() % 1_000_000_000, 9));
    let mut text = String::new();
    let whole = [
        (i64::from(months / 12), "years"),
        (i64::from(months % 12), "months"),
        (i64::from(days), "days"),
        (seconds / 3600, "hours"),
        (seconds / 60 % 60, "minutes"),
    ];
    for (n, unit) in whole.into_iter().filter(|(n, _)| *n != 0) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{n} {unit} ");
    }
    let second = seconds % 60;
    if second != 0 || !part.is_empty() || text.is_empty() {
        let sign = if nanos < 0 && second == 0 { "-" } else { "" };
        let _ = write!(text, "{sign}{second}{part} seconds");
    }
    text.trim_end().to_owned()
}

impl Value<'_> {
    /// As Spark's own `show` does it.
    pub(super) fn shown(&self) -> String {
        let list = |parts: &mut dyn Iterator<Item = String>| parts.collect::<Vec<_>>().join(", ");
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Bool(bool) => bool.to_string(),
            Self::Number(number) => number.clone(),
            Self::Text(text) => text.clone().into_owned(),
            Self::Binary(bytes) => {
                let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("[{}]", bytes.join(" "))
            }
            Self::Moment { shown, .. } => shown.clone(),
            Self::List(values) => format!("[{}]", list(&mut values.iter().map(Self::shown))),
            Self::Struct(fields) => format!("{{{}}}", list(&mut fields.iter().map(|(_, value)| value.shown()))),
            Self::Map(pairs) => {
                let mut pairs = pairs.iter().map(|(key, value)| format!("{} -> {}", key.shown(), value.shown()));
                format!("{{{}}}", list(&mut pairs))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelt_as_spark_does() {
        let shown = |number: f64| float(number, &number.to_string(), &format!("{number:e}"));
        let numbers = [0.0, -0.0, 1.0, 0.1, 0.001, 9_999_999.0, 1e7, 1.5e-4, -1e300, f64::NAN, f64::NEG_INFINITY];
        let expected =
            ["0.0", "-0.0", "1.0", "0.1", "0.001", "9999999.0", "1.0E7", "1.5E-4", "-1.0E300", "NaN", "-Infinity"];
        assert_eq!(numbers.map(shown), expected);
    }

    #[test]
    fn times_are_shown_in_the_zone_of_the_session() {
        let both = |micros, zone| match timestamp(micros, zone) {
            Value::Moment { shown, iso } => format!("{shown} {iso}"),
            other => other.shown(),
        };
        assert_eq!(both(0, None), "1970-01-01 00:00:00 1970-01-01T00:00:00");
        assert_eq!(both(1_500_000, Some("UTC")), "1970-01-01 00:00:01.5 1970-01-01T00:00:01.5Z");
        assert_eq!(both(0, Some("Europe/Berlin")), "1970-01-01 01:00:00 1970-01-01T01:00:00+01:00");
        assert_eq!(both(-1, Some("GMT-03:30")), "1969-12-31 20:29:59.999999 1969-12-31T20:29:59.999999-03:30");
        assert_eq!(both(0, Some("Mars/Base")), "1970-01-01 00:00:00Z 1970-01-01T00:00:00Z");
        assert_eq!(both(i64::MAX, Some("UTC")), "<9223372036854775807 µs after 1970-01-01>");
        assert_eq!(date(-719_162).shown(), "0001-01-01");
    }

    #[test]
    fn intervals_are_shown_whole() {
        assert_eq!(day_time(-93_784_500_000), "INTERVAL '-1 02:03:04.5' DAY TO SECOND");
        assert_eq!(year_month(-14), "INTERVAL '-1-2' YEAR TO MONTH");
        assert_eq!(calendar(14, 3, -500_000_000), "1 years 2 months 3 days -0.5 seconds");
        assert_eq!(calendar(0, 0, 0), "0 seconds");
        assert_eq!(day_time(i64::MIN), "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND");
    }

    #[test]
    fn nested_values_are_shown_as_spark_does() {
        let pair = Value::Struct(vec![("a", Value::Number("1".to_owned())), ("b", Value::Null)]);
        let map = Value::Map(vec![(Value::Text("k".into()), pair.clone())]);
        assert_eq!(Value::List(vec![pair, map]).shown(), "[{1, NULL}, {k -> {1, NULL}}]");
        assert_eq!(Value::Binary(b"\x00\xff").shown(), "[00 FF]");
    }
}
