//! Writes: what stores answer, late, twice, or never.

use domain::lane::Outcome;

use crate::story::names::destination;
use crate::story::{Story, location, store};

fn writing() -> Story {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.all_succeed();
    cache
}

/// An answer to an older serial proves nothing about the newer one.
#[test]
fn an_answer_to_an_old_serial_is_stale() {
    let mut cache = Story::request();
    cache.plan(1, &["one", "two"]);
    cache.succeeds();
    let (git, old) = cache.asked().remove(0);
    cache.succeeds();
    assert_eq!(cache.says_written(&git, old), Outcome::Stale);
    assert_eq!(cache.state(), "writing 1");
    cache.written();
    cache.assert_settled();
}

/// The same answer twice.
#[test]
fn an_answer_counts_once() {
    let mut cache = writing();
    let (git, serial) = cache.asked().remove(0);
    cache.written();
    assert_eq!(cache.says_written(&git, serial), Outcome::Duplicate);
    assert_eq!(cache.says_written(&store("unknown"), 1), Outcome::Stale);
}

/// A failing store is named, and tried again after a pause that grows.
#[test]
fn a_failed_write_is_repeated() {
    let mut cache = writing();
    let mut at = 0;
    for pause in [1, 2, 4, 8] {
        cache.write_fails();
        assert_eq!(cache.state(), "writing 1 store-failing");
        let waiting = cache.waiting().unwrap_or_default();
        assert_eq!(waiting, "store gitstatestores-git: connection refused");
        at += pause;
        assert!(cache.pending().contains(&format!("arm write git#1 at {at}s")));
        cache.passes(pause - 1);
        assert_eq!(cache.timers_fire(), []);
        cache.passes(1);
        assert_eq!(cache.timers_fire(), [Outcome::Applied]);
        assert!(cache.pending().contains(&"write git#1".into()));
    }
    cache.written();
    cache.assert_settled();
}

/// Two writes were under way, and both fail: that is one failure.
#[test]
fn a_failure_that_is_told_twice_counts_once() {
    let mut cache = writing();
    let (git, serial) = cache.asked().remove(0);
    cache.write_fails();
    let result = domain::lane::WriteResult::Failed { message: "again".into() };
    let input = domain::lane::Input::WriteAnswered { store: git.clone(), serial, result };
    assert_eq!(cache.step(input), Outcome::Duplicate);
    assert_eq!(cache.says_written(&git, serial), Outcome::Applied, "but a success counts");
    assert_eq!(cache.state(), "complete 1");
}

/// One dead store does not keep the others from their work.
#[test]
fn a_failing_store_holds_up_nobody_else() {
    let mut redis = Story::promise();
    destination(&mut redis.destinations, "far", &[], location("dead", "far"));
    redis.plan(1, &["one"]);
    redis.all_succeed();
    let (dead, _) = redis.asked().remove(0);
    assert_eq!(dead, store("dead"));
    redis.write_fails();
    redis.written();
    assert_eq!(redis.files(), ["one@dev"]);
    assert_eq!(redis.state(), "writing 1 store-failing");
}

/// What is wanted changes while a write fails: the new serial is tried at once.
#[test]
fn a_change_resets_the_pause() {
    let mut cache = writing();
    cache.write_fails();
    cache.plan(2, &["one"]);
    cache.all_succeed();
    assert_eq!(cache.asked(), [(store("git"), 2)]);
}
