//! What must always hold, by number, and the part of it that one record or two in a row can show.
//!
//! Used by `debug_assert!`, property tests, the simulator and chaos runs; the others watch the whole system.

mod record;
mod transition;

use std::collections::BTreeMap;
use std::fmt;

use crate::digest::Digest;
use crate::footprint::Place;
use crate::id::LaneKey;
use crate::lane::Lane;

/// What always holds, with the ids that tests and documents use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    SingleRunner = 1,
    Order,
    NoLostChange,
    EffectOnce,
    StoreIsFootprint,
    NoFalseSuccess,
    NotStuck,
    Events,
    Bounded,
    Secrets,
    CrashProofInput,
}

impl Invariant {
    pub const ALL: [Self; 11] = [
        Self::SingleRunner,
        Self::Order,
        Self::NoLostChange,
        Self::EffectOnce,
        Self::StoreIsFootprint,
        Self::NoFalseSuccess,
        Self::NotStuck,
        Self::Events,
        Self::Bounded,
        Self::Secrets,
        Self::CrashProofInput,
    ];

    /// The n of `INV-n`.
    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::SingleRunner => {
                "per lane at most one job has a result or effect that can still be accepted"
            }
            Self::Order => {
                "accepted tokens only grow; pipeline n+1 after n succeeded; delete after configure"
            }
            Self::NoLostChange => "the last change seen is run in the end, even if every message was lost",
            Self::EffectOnce => "at most one result is applied per job id, and what follows derives from it",
            Self::StoreIsFootprint => "the places of a settled lane hold exactly its confirmed footprint",
            Self::NoFalseSuccess => "success is told only after the stores acknowledged",
            Self::NotStuck => "a lane that is not settled has something under way or names what it waits for",
            Self::Events => "records are numbered without a gap; a duplicate has the number of its original",
            Self::Bounded => "memory, jobs, streams, records and directories stay within stated limits",
            Self::Secrets => "no secret is in logs, events, status, commits, error texts or other streams",
            Self::CrashProofInput => "no input ends a process",
        }
    }
}

/// `INV-6`.
impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "INV-{}", self.number())
    }
}

/// One invariant broken by one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub lane: LaneKey,
    pub sequence: u64,
    /// What was found instead.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, lane, sequence, found } = self;
        write!(f, "{invariant} ({}): {lane}, record {sequence}: {found}", invariant.meaning())
    }
}

/// Collects what is wrong with one record.
struct Findings<'a> {
    lane: &'a Lane,
    violations: Vec<Violation>,
}

impl<'a> Findings<'a> {
    fn of(lane: &'a Lane) -> Self {
        Self { lane, violations: Vec::new() }
    }

    /// `found` says what is the case when `holds` is not.
    fn require(&mut self, invariant: Invariant, holds: bool, found: impl FnOnce() -> String) {
        if !holds {
            let (lane, sequence) = (self.lane.key.clone(), self.lane.sequence);
            self.violations.push(Violation { invariant, lane, sequence, found: found() });
        }
    }
}

/// What a record shows by itself.
pub fn check(lane: &Lane) -> Vec<Violation> {
    let mut findings = Findings::of(lane);
    record::footprint(&mut findings);
    record::outputs(&mut findings);
    record::run(&mut findings);
    record::life(&mut findings);
    record::success(&mut findings);
    record::not_stuck(&mut findings);
    findings.violations
}

/// What a record and its successor show.
pub fn check_step(before: &Lane, after: &Lane) -> Vec<Violation> {
    let mut findings = Findings::of(after);
    transition::numbers(before, &mut findings);
    transition::tokens(before, &mut findings);
    transition::order(before, &mut findings);
    transition::writes(before, &mut findings);
    let mut violations = findings.violations;
    violations.extend(check(after));
    violations
}

/// What all records of a lane show, oldest first.
pub fn check_history(records: &[Lane]) -> Vec<Violation> {
    let first = records.first().map(check).unwrap_or_default();
    let steps = records.windows(2).filter_map(|pair| match pair {
        [before, after] => Some(check_step(before, after)),
        _ => None,
    });
    first.into_iter().chain(steps.flatten()).collect()
}

/// INV-5, for a settled lane: `held` is all that stands in places that are or were its own.
pub fn check_stores(lane: &Lane, held: &BTreeMap<Place, Digest>) -> Vec<Violation> {
    let mut findings = Findings::of(lane);
    if !lane.is_settled() {
        return Vec::new();
    }
    for placement in &lane.footprint.placements {
        let stands = held.get(&placement.place);
        findings.require(Invariant::StoreIsFootprint, stands == placement.confirmed.as_ref(), || {
            format!("{} holds {stands:?}, confirmed is {:?}", placement.place, placement.confirmed)
        });
    }
    for place in held.keys() {
        let owned = lane.footprint.placements.iter().any(|placement| placement.place == *place);
        findings.require(Invariant::StoreIsFootprint, owned, || format!("{place} holds an orphan"));
    }
    findings.violations
}
