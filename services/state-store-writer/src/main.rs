//! The state-store-writer as a process of its own.

use state_store_writer::{Options, run};

fn main() -> std::process::ExitCode {
    runtime::service::main("state-store-writer", |platform, config, shutdown| {
        let state = config.state.unwrap_or_else(|| ".millrace/state-store-writer".into());
        run(platform, Options::in_directory(&state), shutdown)
    })
}
