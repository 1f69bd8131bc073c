//! Logs: text on a terminal, JSON otherwise; on stderr, so that stdout belongs to the commands.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// `filter`: as in `RUST_LOG`, for example `info` or `scheduler=debug`.
pub fn init(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("log filter `{filter}`: {error}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let result = if std::io::stderr().is_terminal() {
        builder.with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).with_ansi(false).try_init()
    };
    result.map_err(|error| error.to_string())
}

/// An error and all that caused it, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
