//! Who does what at the moment: a bar on a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use domain::id::LaneKey;
use domain::lane::{Lane, Life, RunState};
use indicatif::{ProgressBar, ProgressStyle};

use crate::console::Console;
use crate::quiet::View;

pub(crate) struct Progress {
    console: Console,
    /// None where lines are wanted.
    bar: Option<ProgressBar>,
    shown: BTreeMap<LaneKey, Step>,
}

/// What people are told of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Settled,
    Gone,
    /// Nothing is being done for it; the text says what it waits for.
    Waits(String),
    Works(String),
}

impl Progress {
    pub(crate) fn new(console: &Console) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            // The template is a constant; with a broken one the default would do.
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} settled  {wide_msg}") {
                bar.set_style(style);
            }
            console.bars().add(bar)
        });
        Self { console: console.clone(), bar, shown: BTreeMap::new() }
    }

    /// Shows what has changed since the last view.
    pub(crate) fn update(&mut self, view: &View) {
        let steps: BTreeMap<LaneKey, Step> =
            view.lanes.iter().filter_map(|(key, lane)| Some((key.clone(), step(lane)?))).collect();
        for (key, step) in &steps {
            let is_news = self.shown.get(key) != Some(step);
            // The bar shows what works; it is worth a line of its own where there is no bar.
            if is_news && (self.bar.is_none() || matches!(step, Step::Waits(_) | Step::Gone)) {
                self.console.say(&format!("{}: {}", view.kinds.readable(&key.0), step.text()));
            }
        }
        if let Some(bar) = &self.bar {
            let live = steps.values().filter(|step| **step != Step::Gone);
            let settled = steps.values().filter(|step| **step == Step::Settled).count();
            bar.set_length(u64::try_from(live.count()).unwrap_or(u64::MAX));
            bar.set_position(u64::try_from(settled).unwrap_or(u64::MAX));
            let working = steps.iter().find(|(_, step)| matches!(step, Step::Works(_)));
            let message =
                working.map(|(key, step)| format!("{} {}", view.kinds.readable(&key.0), step.text()));
            bar.set_message(message.unwrap_or_default());
        }
        self.shown = steps;
    }

    /// Takes the bar off the terminal.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Step {
    fn text(&self) -> &str {
        match self {
            Self::Settled => "settled",
            Self::Gone => "gone",
            Self::Waits(text) | Self::Works(text) => text,
        }
    }
}

fn step(lane: &Lane) -> Option<Step> {
    match lane.life {
        Life::New => return None,
        Life::Released => return Some(Step::Gone),
        Life::Live => {}
    }
    if let Some(waiting) = lane.waiting() {
        return Some(Step::Waits(waiting.to_string()));
    }
    if lane.is_settled() {
        return Some(Step::Settled);
    }
    let text = match lane.run.as_ref().map(|run| (run, &run.state)) {
        Some((run, RunState::Running { pipeline, .. })) => {
            let name = run.pipeline(*pipeline).map_or("", |pipeline| &pipeline.name);
            format!("runs {name} ({}/{})", pipeline + 1, run.pipelines.len())
        }
        Some((_, RunState::Writing)) => "is being written".into(),
        Some((_, RunState::Pruning)) => "is being tidied".into(),
        Some((_, RunState::Dependents)) => "deletes its requests".into(),
        Some((
            _,
            RunState::Suspended { .. }
            | RunState::Failed { .. }
            | RunState::Complete
            | RunState::Superseded
            | RunState::Aborted,
        ))
        | None => "is about to run".into(),
    };
    Some(Step::Works(text))
}
