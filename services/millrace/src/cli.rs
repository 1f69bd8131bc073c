//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{apply, completion, delete, describe, events, get, inflate, label, logs, up, version};
use crate::console::{Console, Style};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Target;

/// Ordered platform workflows: Kratix Promises and requests, run without a cluster.
#[derive(Debug, Parser)]
#[command(name = "millrace", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub target: Target,
    /// What is logged to stderr, for example info or scheduler=debug [default: warn]
    #[arg(long, global = true, value_name = "FILTER", env = "MILLRACE_LOG", help_heading = "Logs")]
    pub log: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything here: a NATS server, all services, and the manifests of directories
    Up(up::Args),
    /// Show objects
    Get(get::Args),
    /// Show all about an object
    Describe(describe::Args),
    /// Create or change objects from files
    Apply(apply::Args),
    /// Delete objects
    Delete(delete::Args),
    /// Set or remove labels of an object
    Label(label::Args),
    /// Show what has happened
    Events(events::Args),
    /// Show what an object's pipelines have written
    Logs(logs::Args),
    /// Show the plans of Promises and requests in files, without a server
    Inflate(inflate::Args),
    /// Show versions
    Version,
    /// Write a shell's completion script
    Completion(completion::Args),
}

impl Command {
    /// Errors as JSON, too, where the result is JSON.
    fn style(&self) -> Style {
        let json = match self {
            Self::Get(args) => args.is_json(),
            Self::Events(args) => args.is_json(),
            Self::Inflate(args) => args.is_json(),
            Self::Apply(args) => args.is_json(),
            Self::Delete(args) => args.is_json(),
            Self::Up(_)
            | Self::Describe(_)
            | Self::Label(_)
            | Self::Logs(_)
            | Self::Version
            | Self::Completion(_) => false,
        };
        if json { Style::Json } else { Style::Text }
    }
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::new(cli.command.style());
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::System(format!("starting: {error}")))
        .and_then(|runtime| runtime.block_on(execute(cli, &console)));
    let exit = ended.unwrap_or_else(|failure| {
        console.complain(&failure.complaint());
        failure.exit()
    });
    exit.into()
}

async fn execute(cli: Cli, console: &Console) -> Result<Exit, Failure> {
    let Cli { target, log, command } = cli;
    // A directory that `up` serves may say how much is logged.
    if !matches!(command, Command::Up(_)) {
        runtime::telemetry::init(log.as_deref().unwrap_or(COMMAND_LOG)).map_err(Failure::Usage)?;
    }
    match command {
        Command::Up(args) => up::run(args, &target, log, console).await,
        Command::Get(args) => get::run(args, &target, console).await,
        Command::Describe(args) => describe::run(args, &target, console).await,
        Command::Apply(args) => apply::run(args, &target, console).await,
        Command::Delete(args) => delete::run(args, &target, console).await,
        Command::Label(args) => label::run(args, &target, console).await,
        Command::Events(args) => events::run(args, &target, console).await,
        Command::Logs(args) => logs::run(args, &target, console).await,
        Command::Inflate(args) => inflate::run(&args, console),
        Command::Version => version::run(console),
        Command::Completion(args) => completion::run(&args, console),
    }
}

/// What `up` logs when nobody says.
pub(crate) const DEFAULT_LOG: &str = "warn";
/// What other commands log: what goes wrong with a connection is in their own error.
const COMMAND_LOG: &str = "warn,async_nats=off";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
