//! `millrace describe`: all about one object.

use clap::Args as ClapArgs;
use domain::id::LaneKey;
use domain::lane::Life;
use futures::TryStreamExt;
use runtime::Platform;
use runtime::bus::Records;

use super::{kinds, not_found};
use crate::complaint::Complaint;
use crate::console::Console;
use crate::events;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::describe::{Known, describe};
use crate::session::{Session, Target};
use crate::targets::{Scope, one};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// KIND NAME, or KIND/NAME
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
    #[command(flatten)]
    scope: Scope,
}

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let session = Session::reading(target).await?;
    let text = text(&args, &session.platform).await;
    session.close().await;
    match text? {
        Ok(text) => console.print(&text).map(|()| Exit::Done),
        Err(missing) => {
            console.complain(&missing);
            Ok(Exit::Failed)
        }
    }
}

async fn text(args: &Args, platform: &Platform) -> Result<Result<String, Complaint>, Failure> {
    let (kind, key) = one(&args.what, &kinds(platform).await?, &args.scope)?;
    let Some(object) = platform.objects.get(&key).await? else { return Ok(Err(not_found(&kind, &key))) };
    let lane_key = LaneKey(key);
    let lane = Records::open(&platform.bus).await?.load(&lane_key).await?.lane;
    let lane = Some(&lane).filter(|lane| lane.life != Life::New);
    let events = match lane {
        Some(_) => events::read(&platform.bus, Some(&lane_key), false).await?.try_collect().await?,
        None => Vec::new(),
    };
    let now = platform.clock.now();
    describe(&Known { kind: &kind, object: &object, lane, events: &events, now }).map(Ok)
}
