//! The scheduler as a process of its own.

fn main() -> std::process::ExitCode {
    runtime::service::main("scheduler", |platform, _, shutdown| scheduler::run(platform, shutdown))
}
