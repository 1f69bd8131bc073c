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
        lag: bool,
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
    Serve {
        rounds: u8,
    },
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
        1 => prop::bool::weighted(0.2).prop_map(Event::Unsupported),
        2 => n().prop_map(|label| Event::Label(label, true)),
        5 => n().prop_map(|label| Event::Label(label, false)),
        3 => n().prop_map(Event::Control),
        2 => prop::bool::weighted(0.7).prop_map(Event::Gates),
        4 => (n(), n(), prop::bool::weighted(0.3)).prop_map(|(which, how, lag)| Event::Destination { which, how, lag }),
        14 => (n(), n()).prop_map(|(job, how)| Event::Finish { job, how }),
        1 => n().prop_map(Event::KillRunner),
        10 => (n(), n(), any::<bool>()).prop_map(|(store, push, heard)| Event::Push { store, push, heard }),
        1 => n().prop_map(Event::KillWriter),
        2 => (n(), prop::bool::weighted(0.3)).prop_map(|(store, down)| Event::Down { store, down }),
        2 => (0u8..120).prop_map(Event::Pass),
        2 => n().prop_map(Event::Fire),
        10 => (1u8..5).prop_map(|rounds| Event::Serve { rounds }),
        3 => Just(Event::Sweep),
        2 => Just(Event::Crash),
    ]
}

/// As often as they may come: a pause ends most of what happens.
const LABELS: [ControlLabel; 7] = [
    ControlLabel::ManualReconciliation,
    ControlLabel::RunFromStart,
    ControlLabel::Paused,
    ControlLabel::WorkflowSuspended,
    ControlLabel::ReconcileResources,
    ControlLabel::ManualReconciliation,
    ControlLabel::RunFromStart,
];

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
        Event::Edit { spec } if world.object.is_none() => world.create(spec.into(), false),
        Event::Edit { spec } => world.edit(|object| object.spec = usize::from(spec) % 6),
        Event::Touch => world.edit(|_| {}),
        Event::Delete => world.edit(|object| object.deleting = true),
        Event::Unsupported(set) => world.edit(|object| object.unsupported = set),
        Event::Label(label, on) => world.edit(|object| {
            let label = nth(&LABELS, label);
            if on {
                object.labels.insert(label)
            } else {
                object.labels.remove(&label)
            };
        }),
        Event::Control(request) => {
            use ControlRequest::{Abort, Pause, Restart, Resume, Retry};
            world.take(Input::Control(nth(
                &[Pause, Resume, Resume, Resume, Restart, Abort, Retry, Retry],
                request,
            )));
        }
        Event::Gates(open) => world.gates_open = open,
        Event::Destination { which, how, lag } => world.change_destinations(which.into(), how, lag),
        Event::Finish { job, how } => world.finish(job.into(), how),
        Event::KillRunner(index) => world.kill(index.into()),
        Event::Push { store, push, heard } => world.push(store.into(), push.into(), heard),
        Event::KillWriter(store) => world.kill_writer(store.into()),
        Event::Down { store, down } => world.set_down(store.into(), down),
        Event::Pass(seconds) => world.pass(seconds.into()),
        Event::Fire(index) => world.fire(index.into()),
        Event::Serve { rounds } => (0..rounds).for_each(|_| world.serve()),
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
    world.assert_follows_destinations();
    world.heal();
    world.assert_converged();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_converges(events in prop::collection::vec(event(), 20..160)) {
        converges(WorkflowType::Resource, &events);
    }

    #[test]
    fn a_promise_converges(events in prop::collection::vec(event(), 20..160)) {
        converges(WorkflowType::Promise, &events);
    }
}
