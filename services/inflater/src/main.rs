//! The inflater as a process of its own.

fn main() -> std::process::ExitCode {
    runtime::service::main("inflater", |platform, _, shutdown| inflater::run(platform, shutdown))
}
