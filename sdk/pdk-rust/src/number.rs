//! Converts numbers to text and back, exact to the last bit. It takes a tenth of the
//! code that the standard library would bring into a module.

use std::fmt::Write;

use crate::json::part;

const MANTISSA: u64 = (1 << 52) - 1;
const INFINITE: u64 = 0x7ff << 52;

/// Returns m * 2^two * 10^ten as 64 bits, the first of them set, and the power
/// of two they are to be multiplied by. The last bit is set if anything was
/// cut off. m is not 0, ten within ±400.
fn scale(m: u64, two: i32, ten: i32) -> (u64, i32) {
    let mut left = ten.unsigned_abs();
    // Room for the quotient: 2.33 bits for each power of ten.
    let below = if ten < 0 { left as usize * 75 / 1024 + 3 } else { 0 };
    let mut words = vec![0; below];
    words.extend([m as u32, (m >> 32) as u32]);
    let mut rest = 0;
    while left > 0 {
        let n = left.min(13);
        let five = 5u64.pow(n);
        left -= n;
        let mut carry = 0;
        if ten > 0 {
            for w in words.iter_mut() {
                carry += *w as u64 * five;
                *w = carry as u32;
                carry >>= 32;
            }
            words.push(carry as u32);
        } else {
            for w in words.iter_mut().rev() {
                carry = carry << 32 | *w as u64;
                *w = (carry / five) as u32;
                carry %= five;
            }
            rest |= carry;
        }
    }
    while words.last() == Some(&0) {
        words.pop();
    }
    let first = words.len() as i32 - 2 - below as i32;
    let mut next = || words.pop().unwrap_or(0);
    let (high, middle, low) = (next(), next(), next());
    rest |= words.iter().fold(0, |all, w| all | *w as u64);
    let shift = high.leading_zeros();
    let top = ((high as u128) << 64 | (middle as u128) << 32 | low as u128) << shift;
    rest |= top as u32 as u64;
    ((top >> 32) as u64 | (rest != 0) as u64, two + ten + 32 * first - shift as i32)
}

/// Returns m * 10^ten, rounded to the nearest.
fn join(m: u64, ten: i32) -> f64 {
    if m == 0 || ten < -400 {
        return 0.0;
    }
    if ten > 310 {
        return f64::INFINITY;
    }
    if m >> 53 == 0 && (-22..=22).contains(&ten) {
        // Both are exact, so there is one rounding.
        let p = (0..ten.abs()).fold(1.0, |p, _| p * 10.0);
        return if ten < 0 { m as f64 / p } else { m as f64 * p };
    }
    let (m, exp) = scale(m, 0, ten);
    let drop = if exp < -1085 { -1074 - exp } else { 11 }; // the first case is subnormal
    if drop > 64 {
        return 0.0;
    }
    let wide = (m as u128) << (64 - drop); // the kept bits, then 64 that are cut
    let (mut kept, cut) = ((wide >> 64) as u64, wide as u64);
    if cut > 1 << 63 || cut == 1 << 63 && kept & 1 == 1 {
        kept += 1;
    }
    if drop > 11 {
        return f64::from_bits(kept); // a carry here gives the least normal number, which is right
    }
    let biased = (exp + drop + 1075 + (kept >> 53) as i32) as u64;
    if biased >= 0x7ff {
        return f64::INFINITY;
    }
    f64::from_bits(biased << 52 | kept >> (kept >> 53) & MANTISSA)
}

/// Reads a JSON number. `Err` holds a number that is not an i64.
pub fn parse(text: &str) -> Option<Result<i64, f64>> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let negative = unsigned.len() < text.len();
    let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.len() == unsigned.len() && fraction.is_empty() {
        // A text that is longer than the longest i64 is a float.
        if let Ok(i) = text.parse() {
            return Some(Ok(i));
        }
    }
    let (mut m, mut ten) = (0, exponent.parse().unwrap_or(if exponent.starts_with('-') { -9999 } else { 9999 }));
    for (i, b) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !b.is_ascii_digit() {
            return None;
        }
        ten -= (i >= whole.len()) as i32;
        if m < 10u64.pow(18) {
            m = 10 * m + (b - b'0') as u64;
        } else {
            ten += 1; // beyond 19 digits
        }
    }
    let f = join(m, ten);
    (!whole.is_empty()).then(|| Err(if negative { -f } else { f }))
}

/// Adds a number with a fraction or an exponent, so that it reads back as the same bits.
/// A number that is not finite becomes null.
pub fn write(out: &mut String, f: f64) {
    let bits = f.to_bits() & !(1 << 63);
    if bits >= INFINITE {
        return out.push_str("null");
    }
    if f.is_sign_negative() {
        out.push('-');
    }
    if bits == 0 {
        return out.push_str("0.0");
    }
    let (n, ten) = split(bits);
    let mut digits = String::new();
    _ = write!(digits, "{}", n);
    let digits = digits.trim_end_matches('0');
    let point = 17 - ten; // f is 0.digits * 10^point
    match usize::try_from(point) {
        Ok(p @ 1..=17) if digits.len() <= p => {
            out.push_str(digits);
            (digits.len()..p).for_each(|_| out.push('0'));
            out.push_str(".0");
        }
        Ok(p @ 1..=17) => {
            out.push_str(part(digits, 0, p));
            out.push('.');
            out.push_str(part(digits, p, digits.len()));
        }
        _ if (-4..=0).contains(&point) => {
            out.push_str("0.");
            (point..0).for_each(|_| out.push('0'));
            out.push_str(digits);
        }
        _ => {
            out.push_str(part(digits, 0, 1));
            if digits.len() > 1 {
                out.push('.');
                out.push_str(part(digits, 1, digits.len()));
            }
            _ = write!(out, "e{}", point - 1);
        }
    }
}

/// Returns 17 digits n and a power of ten such that n / 10^ten rounds to the number with
/// these bits. The last two digits are 0 if 15 are enough.
fn split(bits: u64) -> (u64, i32) {
    let (m, two) = match (bits >> 52) as i32 {
        0 => (bits, -1074),
        exp => (bits & MANTISSA | 1 << 52, exp - 1075),
    };
    let mut ten = 16 - (two + 63 - m.leading_zeros() as i32) * 30103 / 100_000;
    loop {
        let (wide, exp) = scale(m, two, ten);
        let n = (wide >> -exp) + (wide >> (-exp - 1) & 1);
        if n >= 10u64.pow(17) {
            ten -= 1;
        } else if n < 10u64.pow(16) {
            ten += 1;
        } else {
            let fewer = (n + 50) / 100;
            if join(fewer, 2 - ten).to_bits() != bits {
                return (n, ten);
            }
            let carried = fewer == 10u64.pow(15);
            return if carried { (10u64.pow(16), ten - 1) } else { (fewer * 100, ten) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(f: f64) {
        let mut text = String::new();
        write(&mut text, f);
        assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(f.to_bits()), "{}", text);
        for text in [text, format!("{:?}", f), format!("{:.30e}", f)] {
            match parse(&text) {
                Some(Err(got)) => assert_eq!(got.to_bits(), f.to_bits(), "{}", text),
                other => panic!("{}: {:?}", text, other),
            }
        }
    }

    #[test]
    fn both_ways() {
        let ends = [
            0.0,
            -0.0,
            1.0,
            0.1,
            1e22,
            1e23,
            123456.0,
            1e16,
            1e17,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            2.2250738585072011e-308,
        ];
        ends.into_iter().for_each(check);
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let f = f64::from_bits(x);
            if f.is_finite() {
                check(f);
            }
            check((x >> 11) as f64 / (1u64 << 53) as f64);
        }
    }

    #[test]
    fn forms() {
        for (f, want) in [
            (0.5, "0.5"),
            (100.0, "100.0"),
            (1.25e20, "1.25e20"),
            (1e-7, "1e-7"),
            (0.00012, "0.00012"),
            (1.0 / 3.0, "0.33333333333333331"),
        ] {
            let mut text = String::new();
            write(&mut text, f);
            assert_eq!(text, want);
        }
        assert_eq!(parse("9223372036854775807"), Some(Ok(i64::MAX)));
        assert_eq!(parse("-9223372036854775808"), Some(Ok(i64::MIN)));
        assert_eq!(parse("9223372036854775808"), Some(Err(9223372036854775808.0)));
        for broken in ["", "-", "1x", ".5", "e1"] {
            assert_eq!(parse(broken), None, "{}", broken);
        }
    }
}
