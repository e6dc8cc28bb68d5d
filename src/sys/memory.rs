//! The memory of this machine.

/// How many bytes programs can have without swapping, if the system says so.
pub fn available() -> Option<u64> {
    available_in(&fs_err::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_kernel_says() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
        assert_eq!(available_in("MemAvailable: x kB\n"), None);
    }
}
