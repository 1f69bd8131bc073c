//! The predicates find what they are for: each broken record is told apart from the sound one that it was made of.

mod story;

use std::collections::BTreeMap;

use domain::digest::Digest;
use domain::footprint::Footprint;
use domain::invariant::{Invariant, Violation, check, check_history, check_step, check_stores};
use domain::lane::{Lane, Life, PipelinePhase, RunState};

use crate::story::Story;

fn complete() -> Story {
    let mut story = Story::request();
    story.plan(1, &["one", "two"]);
    story.all_succeed();
    story.written();
    story
}

fn running() -> Story {
    let mut story = Story::request();
    story.plan(1, &["one", "two"]);
    story.succeeds();
    story
}

fn numbers(violations: &[Violation]) -> Vec<u8> {
    let mut numbers: Vec<u8> = violations.iter().map(|violation| violation.invariant.number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Breaks a sound record and says which invariants that breaks.
fn broken(sound: &Story, harm: impl FnOnce(&mut Lane)) -> Vec<u8> {
    assert_eq!(check(&sound.lane), Vec::<Violation>::new());
    let mut lane = sound.lane.clone();
    harm(&mut lane);
    numbers(&check(&lane))
}

fn set_state(lane: &mut Lane, state: RunState) {
    lane.run.as_mut().expect("a run").state = state;
}

#[test]
fn numbers_and_names_agree() {
    let numbers: Vec<u8> = Invariant::ALL.iter().map(|invariant| invariant.number()).collect();
    assert_eq!(numbers, (1..=11).collect::<Vec<_>>());
    let violations = check(&{
        let mut lane = complete().lane;
        lane.footprint.stores.values_mut().for_each(|writes| writes.serial += 1);
        lane
    });
    let text = violations.first().expect("it is broken").to_string();
    assert!(text.starts_with("INV-6 (success is told only after"), "{text}");
}

/// INV-6: complete, though a write is unanswered, a file unconfirmed, or an output nowhere.
#[test]
fn false_success_is_found() {
    let unanswered =
        |lane: &mut Lane| lane.footprint.stores.values_mut().for_each(|writes| writes.serial += 1);
    assert_eq!(broken(&complete(), unanswered), [6]);
    assert_eq!(broken(&complete(), |lane| lane.footprint.placements[0].confirmed = None), [6, 7]);
    let nowhere = |lane: &mut Lane| lane.footprint = Footprint::default();
    assert_eq!(broken(&complete(), nowhere), [6]);
}

/// INV-2 and rule 1: pipelines out of order, attempts without a job, a run above the counter.
#[test]
fn disorder_is_found() {
    let skip = |lane: &mut Lane| lane.run.as_mut().expect("a run").pipelines[0].phase = PipelinePhase::Failed;
    assert_eq!(broken(&running(), skip), [2]);
    let never_started = |lane: &mut Lane| lane.run.as_mut().expect("a run").pipelines[1].attempts = 0;
    assert_eq!(broken(&running(), never_started), [2]);
    assert_eq!(broken(&running(), |lane| lane.run_counter = 0), [2]);
    let beyond = |lane: &mut Lane| set_state(lane, RunState::Failed { pipeline: 9 });
    assert_eq!(broken(&running(), beyond), [2]);
    let early = |lane: &mut Lane| set_state(lane, RunState::Writing);
    assert_eq!(broken(&running(), early), [2]);
}

/// INV-1: the run is over, and a job of it is still running.
#[test]
fn a_job_without_a_run_is_found() {
    assert_eq!(broken(&running(), |lane| set_state(lane, RunState::Aborted)), [1]);
}

/// INV-7: nothing pending, nothing named.
#[test]
fn a_stuck_lane_is_found() {
    assert_eq!(broken(&complete(), |lane| set_state(lane, RunState::Superseded)), [7]);
    assert_eq!(broken(&complete(), |lane| set_state(lane, RunState::Pruning)), [7]);
}

/// INV-5 and INV-4: a place twice, a placement of nobody, an output that is not what is wanted.
#[test]
fn a_wrong_footprint_is_found() {
    let twice = |lane: &mut Lane| lane.footprint.placements[1] = lane.footprint.placements[0].clone();
    assert_eq!(broken(&complete(), twice), [5, 6]);
    assert_eq!(broken(&complete(), |lane| drop(lane.outputs.remove(0))), [5]);
    assert_eq!(broken(&complete(), |lane| lane.outputs[0].digest = Digest::of(b"other")), [4]);
    assert_eq!(broken(&complete(), |lane| lane.life = Life::Released), [5]);
}

/// INV-5 in the stores: a missing file, a wrong one, an orphan. A lane that is not settled is not judged.
#[test]
fn wrong_stores_are_found() {
    let story = complete();
    assert_eq!(check_stores(&story.lane, &story.held), Vec::<Violation>::new());
    assert_eq!(numbers(&check_stores(&story.lane, &BTreeMap::new())), [5]);
    let mut held = story.held.clone();
    for digest in held.values_mut() {
        *digest = Digest::of(b"other");
    }
    assert_eq!(check_stores(&story.lane, &held).len(), 2);
    let mut held = story.held.clone();
    let mut orphan = held.keys().next().expect("it holds files").clone();
    orphan.prefix.push_str("/left-behind");
    held.insert(orphan, Digest::of(b"orphan"));
    assert_eq!(numbers(&check_stores(&story.lane, &held)), [5]);
    assert_eq!(check_stores(&running().lane, &held), Vec::<Violation>::new());
}

/// INV-8, INV-2, INV-3: a gap, a number that goes back, a version that goes back.
#[test]
fn wrong_histories_are_found() {
    let mut story = running();
    let before = story.lane.clone();
    story.succeeds();
    let after = story.lane.clone();
    assert_eq!(check_history(&[before.clone(), after.clone()]), Vec::<Violation>::new());
    assert_eq!(numbers(&check_step(&after, &before)), [2, 4, 8], "backwards");
    assert_eq!(numbers(&check_step(&before, &before)), [8], "the same again");

    let step = |harm: &dyn Fn(&mut Lane)| {
        let mut harmed = after.clone();
        harm(&mut harmed);
        numbers(&check_step(&before, &harmed))
    };
    assert_eq!(step(&|lane| lane.incarnation += 1), [8]);
    assert_eq!(step(&|lane| lane.seen[0].resource_version.0 = 0), [3]);
    assert_eq!(step(&|lane| lane.footprint.stores.clear()), [2, 5, 7]);
    assert_eq!(step(&|lane| lane.life = Life::New), [2, 5]);
}
