//! What the binaries of all services share: arguments, configuration, logs, connection, shutdown.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::Platform;
use crate::clock::Clock;
use crate::config::{self, ServiceConfig};
use crate::shutdown::Shutdown;
use crate::telemetry::{self, chain};

/// A flag wins over the environment (`MILLRACE_BUS__URL`, ...), which wins over the file.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Configuration file (YAML).
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address of the NATS server.
    #[arg(long)]
    nats: Option<String>,
    /// File with the nkey seed of this service.
    #[arg(long)]
    nkey_file: Option<PathBuf>,
    /// Directory for caches and locks of this host.
    #[arg(long)]
    state: Option<PathBuf>,
    /// Log filter, such as `info` or `scheduler=debug`.
    #[arg(long)]
    log: Option<String>,
}

fn configuration(args: Args) -> Result<ServiceConfig, config::Error> {
    let mut config = config::load(args.config.as_deref())?;
    config.bus.url = args.nats.unwrap_or(config.bus.url);
    config.bus.nkey_file = args.nkey_file.or(config.bus.nkey_file);
    config.state = args.state.or(config.state);
    config.log = args.log.or(config.log);
    Ok(config)
}

/// Runs one service as a process.
pub fn main<F, R, E>(name: &'static str, run: F) -> ExitCode
where
    F: FnOnce(Platform, ServiceConfig, Shutdown) -> R,
    R: Future<Output = Result<(), E>>,
    E: std::error::Error + 'static,
{
    let outcome = configuration(Args::parse()).map_err(|error| chain(&error)).and_then(|config| {
        telemetry::init(config.log.as_deref().unwrap_or("info"))?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let shutdown = Shutdown::on_signals().map_err(|error| error.to_string())?;
            let platform =
                Platform::embedded(&config.bus, Clock::System).await.map_err(|error| chain(&error))?;
            tracing::info!(service = name, version = env!("CARGO_PKG_VERSION"), "started");
            run(platform, config, shutdown).await.map_err(|error| chain(&error))
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(service = name, error, "ended");
            let _ =
                std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("error: {name}: {error}\n"));
            ExitCode::FAILURE
        }
    }
}
