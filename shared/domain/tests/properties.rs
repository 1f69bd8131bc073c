//! Random histories of a lane in a world where everything goes wrong that can: every record keeps the invariants,
//! and once nothing goes wrong any more the last change is done.

mod story;
mod world;

use domain::control::ControlLabel;
use domain::lane::{ControlRequest, Input};
use domain::plan::WorkflowType;
use proptest::prelude::*;

use crate::world::World;

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The n-th message under way arrives, arrives and stays, or is lost.
    Deliver(u8),
    Duplicate(u8),
    Lose(u8),
    Create {
        spec: u8,
        gated: bool,
    },
    Edit {
        spec: u8,
    },
    Touch,
    Delete,
    Unsupported(bool),
    Label(u8, bool),
    Control(u8),
    Gates(bool),
    Destination {
        which: u8,
        how: u8,
    },
    Finish {
        job: u8,
        how: u8,
    },
    KillRunner(u8),
    Push {
        store: u8,
        push: u8,
        heard: bool,
    },
    KillWriter(u8),
    Down {
        store: u8,
        down: bool,
    },
    Pass(u8),
    Fire(u8),
    /// All is well for a moment: what is under way arrives and ends.
    Serve,
    Sweep,
    /// The scheduler dies after its next compare-and-set.
    Crash,
}

fn event() -> impl Strategy<Value = Event> {
    let n = any::<u8>;
    prop_oneof![
        20 => (0u8..3).prop_map(Event::Deliver),
        6 => n().prop_map(Event::Deliver),
        3 => n().prop_map(Event::Duplicate),
        3 => n().prop_map(Event::Lose),
        1 => (n(), any::<bool>()).prop_map(|(spec, gated)| Event::Create { spec, gated }),
        5 => n().prop_map(|spec| Event::Edit { spec }),
        1 => Just(Event::Touch),
        1 => Just(Event::Delete),
        1 => any::<bool>().prop_map(Event::Unsupported),
        4 => (n(), any::<bool>()).prop_map(|(label, on)| Event::Label(label, on)),
        3 => n().prop_map(Event::Control),
        2 => any::<bool>().prop_map(Event::Gates),
        4 => (n(), n()).prop_map(|(which, how)| Event::Destination { which, how }),
        14 => (n(), n()).prop_map(|(job, how)| Event::Finish { job, how }),
        1 => n().prop_map(Event::KillRunner),
        10 => (n(), n(), any::<bool>()).prop_map(|(store, push, heard)| Event::Push { store, push, heard }),
        1 => n().prop_map(Event::KillWriter),
        1 => (n(), any::<bool>()).prop_map(|(store, down)| Event::Down { store, down }),
        2 => (0u8..120).prop_map(Event::Pass),
        2 => n().prop_map(Event::Fire),
        12 => Just(Event::Serve),
        3 => Just(Event::Sweep),
        2 => Just(Event::Crash),
    ]
}

fn nth<T: Copy>(all: &[T], index: u8) -> T {
    all[usize::from(index) % all.len()]
}

fn happen(world: &mut World, event: Event) {
    let at = |index: u8, count: usize| (count > 0).then(|| usize::from(index) % count);
    match event {
        Event::Deliver(index) => {
            if let Some(at) = at(index, world.bus.len()) {
                let message = world.bus.remove(at);
                world.receive(message);
            }
        }
        Event::Duplicate(index) => {
            if let Some(at) = at(index, world.bus.len()) {
                world.receive(world.bus[at].clone());
            }
        }
        Event::Lose(index) => drop(at(index, world.bus.len()).map(|at| world.bus.remove(at))),
        Event::Create { spec, gated } => world.create(spec.into(), gated),
        Event::Edit { spec } => world.edit(|object| object.spec = usize::from(spec) % 6),
        Event::Touch => world.edit(|_| {}),
        Event::Delete => world.edit(|object| object.deleting = true),
        Event::Unsupported(set) => world.edit(|object| object.unsupported = set),
        Event::Label(label, on) => world.edit(|object| {
            let label = nth(&ControlLabel::ALL, label);
            if on { object.labels.insert(label) } else { object.labels.remove(&label) };
        }),
        Event::Control(request) => {
            use ControlRequest::{Abort, Pause, Restart, Resume, Retry};
            world.take(Input::Control(nth(&[Pause, Resume, Resume, Restart, Abort, Retry], request)));
        }
        Event::Gates(open) => world.gates_open = open,
        Event::Destination { which, how } => world.change_destinations(which.into(), how),
        Event::Finish { job, how } => world.finish(job.into(), how),
        Event::KillRunner(index) => world.kill(index.into()),
        Event::Push { store, push, heard } => world.push(store.into(), push.into(), heard),
        Event::KillWriter(store) => world.kill_writer(store.into()),
        Event::Down { store, down } => world.set_down(store.into(), down),
        Event::Pass(seconds) => world.pass(seconds.into()),
        Event::Fire(index) => world.fire(index.into()),
        Event::Serve => world.serve(),
        Event::Sweep => world.sweep(),
        Event::Crash => world.crash = true,
    }
}

/// Lets it all happen; INV-1..INV-6 and INV-8 are checked with every record on the way.
fn converges(workflow: WorkflowType, events: &[Event]) {
    let mut world = World::new(workflow);
    world.create(0, false);
    for event in events {
        happen(&mut world, *event);
    }
    world.crash = false;
    world.come_to_rest();
    world.assert_not_stuck();
    world.heal();
    world.assert_converged();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_converges(events in prop::collection::vec(event(), 1..150)) {
        converges(WorkflowType::Resource, &events);
    }

    #[test]
    fn a_promise_converges(events in prop::collection::vec(event(), 1..150)) {
        converges(WorkflowType::Promise, &events);
    }
}

#[test]
#[ignore]
fn stats() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::collections::BTreeMap;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut runner = TestRunner::deterministic();
    for i in 0..600 {
        let events = prop::collection::vec(event(), 1..150).new_tree(&mut runner).unwrap().current();
        let wf = if i % 2 == 0 { WorkflowType::Resource } else { WorkflowType::Promise };
        let mut world = World::new(wf);
        world.create(0, false);
        for event in &events {
            happen(&mut world, *event);
            let s = story::show::state(&world.lane);
            let s: String = s.chars().filter(|c| !c.is_ascii_digit() && *c != '/').collect();
            *seen.entry(format!("{:?} {s}", world.lane.transition)).or_default() += 1;
        }
        *seen.entry(format!("applied {}", world.applied.len() / 5 * 5)).or_default() += 1;
        *seen.entry(format!("abandoned {}", world.abandoned.len())).or_default() += 1;
        world.crash = false;
        world.come_to_rest();
        *seen.entry(format!("REST {}", world.lane.waiting().map(|w| format!("{w:?}").chars().take(10).collect::<String>()).unwrap_or_default())).or_default() += 1;
    }
    let mut v: Vec<_> = seen.into_iter().collect();
    v.sort_by_key(|x| std::cmp::Reverse(x.1));
    for (k, n) in v { println!("{n:6} {k}"); }
}
