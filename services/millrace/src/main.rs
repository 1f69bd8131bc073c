//! The program `millrace`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Both become another process if asked to, which must happen before any thread exists.
    job_runner::process::supervise_if_asked();
    millrace::nats_child::exec_if_asked();
    millrace::main()
}
