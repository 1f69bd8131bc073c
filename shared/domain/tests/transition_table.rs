//! The whole transition table as a snapshot: every kind of state meets every kind of input.
//!
//! A line reads `state | input -> outcome: next state; actions`. A state is written as in [`story::show::state`];
//! tokens are run/pipeline/attempt. The snapshot is read by people: a change in it is a change of behaviour.

mod story;

#[path = "table/inputs.rs"]
mod inputs;
#[path = "table/states.rs"]
mod states;

use std::fmt::Write as _;

use domain::lane::{Action, Outcome};

use crate::story::{Story, show};

#[test]
fn the_transition_table() {
    let mut table = String::new();
    for (title, state) in states::all() {
        let story = state();
        let before = story.state();
        let width = inputs::all(&story).iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        writeln!(table, "\n# {title}\n").expect("a string takes it");
        for (name, input) in inputs::all(&story) {
            let mut story = story.clone();
            let outcome = story.step(input);
            let line = format!("{before} | {name:width$} -> {}", taken(outcome, &before, &story));
            writeln!(table, "{}", line.trim_end()).expect("a string takes it");
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("transition_table", table);
    });
}

fn taken(outcome: Outcome, before: &str, story: &Story) -> String {
    match outcome {
        Outcome::Stale => "stale".into(),
        Outcome::Duplicate => "duplicate".into(),
        Outcome::Applied => {
            let after = story.state();
            let after = if after == before { "=" } else { &after };
            // A status is reported after every transition but its own.
            let told = |action: &Action| matches!(action, Action::ReportStatus);
            let actions: Vec<String> =
                story.lane.pending().iter().filter(|action| !told(action)).map(show::action).collect();
            format!("{after}; {}", actions.join(", ")).trim_end_matches("; ").into()
        }
    }
}
