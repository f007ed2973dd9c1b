//! Random numbers of the host for crates that use getrandom 0.2, 0.3 or 0.4, such as rand and uuid:
//! its custom backend. A module with it imports random_get of WASI.

use core::num::NonZeroU32;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn random_get(to: *mut u8, size: usize) -> i32;
}

/// Fills memory with random bytes. The host refuses only addresses that are not the guest's.
unsafe fn fill(to: *mut u8, size: usize) -> Result<(), NonZeroU32> {
    NonZeroU32::new(random_get(to, size) as u32).map_or(Ok(()), Err)
}

/// The backend of getrandom 0.2 with its feature `custom`.
#[no_mangle]
unsafe extern "Rust" fn __getrandom_custom(to: *mut u8, size: usize) -> u32 {
    fill(to, size).map_or_else(NonZeroU32::get, |()| 0)
}

/// The backend of getrandom 0.3 and 0.4, whose error is a number that is not 0.
#[no_mangle]
unsafe extern "Rust" fn __getrandom_v03_custom(to: *mut u8, size: usize) -> Result<(), NonZeroU32> {
    fill(to, size)
}
