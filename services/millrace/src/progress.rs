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
    shown: BTreeMap<LaneKey, Step>,
    style: Style,
}

enum Style {
    Lines,
    /// There from the first lane on.
    Bar(Option<ProgressBar>),
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
        let style = if std::io::stderr().is_terminal() { Style::Bar(None) } else { Style::Lines };
        Self { console: console.clone(), shown: BTreeMap::new(), style }
    }

    /// Shows what has changed since the last view.
    pub(crate) fn update(&mut self, view: &View) {
        let steps: BTreeMap<LaneKey, Step> =
            view.lanes.iter().filter_map(|(key, lane)| Some((key.clone(), step(lane)?))).collect();
        for (key, step) in &steps {
            let is_news = self.shown.get(key) != Some(step);
            // The bar shows what works; it is worth a line of its own where there is no bar.
            if is_news && (matches!(self.style, Style::Lines) || matches!(step, Step::Waits(_) | Step::Gone))
            {
                self.console.say(&format!("{}: {}", view.kinds.readable(&key.0), step.text()));
            }
        }
        if let Style::Bar(bar) = &mut self.style
            && !steps.is_empty()
        {
            draw(bar.get_or_insert_with(|| self.console.bars().add(new_bar())), view, &steps);
        }
        self.shown = steps;
    }

    /// Takes the bar off the terminal; what comes from now on is shown in lines.
    pub(crate) fn finish(&mut self) {
        if let Style::Bar(Some(bar)) = std::mem::replace(&mut self.style, Style::Lines) {
            bar.finish_and_clear();
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    // The template is a constant; with a broken one the default would do.
    match ProgressStyle::with_template("{bar:24} {pos}/{len} settled  {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn draw(bar: &ProgressBar, view: &View, steps: &BTreeMap<LaneKey, Step>) {
    let live = steps.values().filter(|step| **step != Step::Gone).count();
    let settled = steps.values().filter(|step| **step == Step::Settled).count();
    let working = steps.iter().find(|(_, step)| matches!(step, Step::Works(_)));
    let message = working.map(|(key, step)| format!("{} {}", view.kinds.readable(&key.0), step.text()));
    bar.set_length(u64::try_from(live).unwrap_or(u64::MAX));
    bar.set_position(u64::try_from(settled).unwrap_or(u64::MAX));
    bar.set_message(message.unwrap_or_default());
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
