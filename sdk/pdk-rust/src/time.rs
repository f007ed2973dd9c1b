//! Times are nanoseconds since 1970. In documents they are texts of RFC 3339.

use std::fmt::Write;

/// No time.
pub const NONE: i64 = i64::MIN;

/// Reads a text of RFC 3339. Any other text gives `NONE`.
pub fn parse(text: &str) -> i64 {
    parts(text.as_bytes()).unwrap_or(NONE)
}

fn digits(b: &[u8], from: usize, n: usize) -> Option<i64> {
    b.get(from..from + n)?.iter().try_fold(0, |v, c| c.is_ascii_digit().then(|| v * 10 + (c - b'0') as i64))
}

fn parts(b: &[u8]) -> Option<i64> {
    let (mut y, mut m, d) = (digits(b, 0, 4)?, digits(b, 5, 2)?, digits(b, 8, 2)?);
    let mut seconds = digits(b, 11, 2)? * 3600 + digits(b, 14, 2)? * 60 + digits(b, 17, 2)?;
    let (mut at, mut ns, mut unit) = (19, 0, 100_000_000);
    if b.get(at) == Some(&b'.') {
        at += 1;
        while let Some(v) = digits(b, at, 1) {
            ns += unit * v;
            unit /= 10;
            at += 1;
        }
    }
    if let sign @ (b'+' | b'-') = *b.get(at)? {
        let offset = digits(b, at + 1, 2)? * 3600 + digits(b, at + 4, 2)? * 60;
        seconds += if sign == b'-' { offset } else { -offset };
    }
    if m <= 2 {
        y -= 1;
        m += 12;
    }
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + d - 1 - 719_468;
    // The product may exceed the range by less than ns takes away again.
    Some((days * 86_400 + seconds).wrapping_mul(1_000_000_000).wrapping_add(ns))
}

/// Adds a time as text of RFC 3339.
pub fn write(out: &mut String, ns: i64) {
    let (seconds, ns) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let (days, seconds) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, doe) = (days / 146_097, days % 146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + (month <= 2) as i64;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    _ = write!(out, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", year, month, day, hour, minute, second, ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        for (text, ns) in [
            ("1970-01-01T00:00:00.000000000Z", 0),
            ("2025-03-01T12:30:00.500000000Z", 1_740_832_200_500_000_000),
            ("1677-09-21T00:12:43.145224193Z", i64::MIN + 1),
            ("2262-04-11T23:47:16.854775807Z", i64::MAX),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("2000-02-29T00:00:00.000000000Z", 951_782_400_000_000_000),
        ] {
            let mut out = String::new();
            write(&mut out, ns);
            assert_eq!((parse(text), out.as_str()), (ns, text));
        }
        assert_eq!(parse("2025-03-01T14:30:00+02:00"), parse("2025-03-01T12:30:00Z"));
        assert_eq!(parse("yesterday"), NONE);
    }
}
