//! `millrace events`: the public log of transitions.

use clap::{Args as ClapArgs, ValueEnum};
use domain::id::LaneKey;
use futures::StreamExt;
use runtime::Platform;

use super::kinds;
use crate::console::Console;
use crate::events::{self, Event, detail};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::Kinds;
use crate::session::{Session, Target};
use crate::targets::{Scope, one};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only of this object: KIND NAME, or KIND/NAME
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// Go on with what comes, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    scope: Scope,
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    /// CloudEvents, one a line
    Json,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }
}

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let session = Session::reading(target).await?;
    let shown = tokio::select! {
        shown = show(&args, &session.platform, console) => shown.map(|()| Exit::Done),
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map(|()| Exit::Interrupted).map_err(|error| Failure::System(format!("signals: {error}")))
        }
    };
    session.close().await;
    shown
}

async fn show(args: &Args, platform: &Platform, console: &Console) -> Result<(), Failure> {
    let kinds = kinds(platform).await?;
    let lane = match args.what[..] {
        [] => None,
        _ => Some(LaneKey(one(&args.what, &kinds, &args.scope)?.1)),
    };
    let mut events = events::read(&platform.bus, lane.as_ref(), args.follow).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        let text = match args.output {
            Format::Json => event.to_json().to_string(),
            Format::Text => line(&event, &kinds),
        };
        console.print(&(text + "\n"))?;
    }
    Ok(())
}

fn line(event: &Event, kinds: &Kinds) -> String {
    let object = kinds.readable(&event.lane.key.0);
    // Times come with as many digits as they need.
    let time = event
        .time
        .parse::<jiff::Timestamp>()
        .map_or_else(|_| event.time.clone(), |time| format!("{time:.3}"));
    let line = format!("{time}  {:<18}  {object}  {}", event.transition(), detail(&event.lane));
    line.replace(|c: char| c.is_control(), " ").trim_end().to_owned()
}
