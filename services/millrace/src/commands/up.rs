//! `millrace up`: everything here, until Ctrl-C or until the system is quiet.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use resources::duration;

use crate::cli::DEFAULT_LOG;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Target;
use crate::state::DEFAULT_NAME;
use crate::sync::{Watched, distinct};
use crate::up::configuration::Configuration;
use crate::up::{self, Options};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Directories whose manifests are applied, now and at every change
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// End when nothing is left to do; the exit code says how things stand
    #[arg(long)]
    until_settled: bool,
    /// Give up after this time, such as 90s or 5m
    #[arg(long, value_name = "TIME", requires = "until_settled", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// What runs pipelines
    #[arg(long, value_enum, default_value_t)]
    runner: Runner,
    /// What stands in for an image: REF=scripts:DIR, REF=rootfs:DIR or REF=host; REF may be a glob
    #[arg(long = "image", value_name = "REF=...")]
    images: Vec<String>,
    /// Jobs at a time [default: twice the processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    slots: Option<u16>,
    /// How far pipelines are kept from this machine
    #[arg(long, value_enum, default_value_t)]
    isolation: Isolation,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Runner {
    /// The best there is on this machine
    #[default]
    Auto,
    /// Processes in namespaces of their own
    Process,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Isolation {
    #[default]
    Namespaces,
    /// Plain processes of this user
    None,
}

pub(crate) async fn run(
    args: Args,
    target: &Target,
    log: Option<String>,
    console: &Console,
) -> Result<Exit, Failure> {
    if target.nats.is_some() {
        return Err(Failure::Usage("`up` runs a server of its own; --nats is for the other commands".into()));
    }
    match args.runner {
        Runner::Auto | Runner::Process => {}
    }
    let directories = args.directories.iter().map(|directory| {
        Watched::new(directory).map_err(|source| Failure::File { file: directory.clone(), source })
    });
    let directories = distinct(directories.collect::<Result<_, _>>()?);
    let configuration = Configuration::of(directories.iter().map(|directory| &*directory.path))?;
    let filter = log.or(configuration.log).unwrap_or_else(|| DEFAULT_LOG.into());
    runtime::telemetry::init(&filter).map_err(Failure::Usage)?;
    let slots = args.slots.map(usize::from).or(configuration.slots).unwrap_or_else(job_runner::default_slots);
    let options = Options {
        state: target.state.clone().unwrap_or_else(|| Path::new(DEFAULT_NAME).into()),
        directories,
        until_settled: args.until_settled,
        timeout: args.timeout,
        slots,
        images: configuration.images.into_iter().chain(args.images).collect(),
        isolation: match args.isolation {
            Isolation::Namespaces => job_runner::process::Isolation::Namespaces,
            Isolation::None => job_runner::process::Isolation::None,
        },
    };
    up::up(options, console).await
}
