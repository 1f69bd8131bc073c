//! Rule 6, second half: Destinations and stores that move, go, or come back.

use domain::lane::Outcome;

use crate::story::names::destination;
use crate::story::{Story, group, group_for, location, store};

const DEV: &[(&str, &str)] = &[("env", "dev")];
const PROD: &[(&str, &str)] = &[("env", "prod")];

fn settled(mut story: Story) -> Story {
    story.plan(1, &["one", "two"]);
    story.all_succeed();
    story.written();
    story.assert_settled();
    story
}

/// The lane takes the news once, and hears nothing of changes that do not matter to scheduling.
#[test]
fn news_of_destinations_is_taken_once() {
    let mut cache = settled(Story::request());
    cache.destinations.revision += 1;
    assert_eq!(cache.announce(), Outcome::Duplicate, "only a status has changed");
    let old = cache.destinations.clone();
    cache.destination("prod", PROD);
    assert_eq!(cache.announce(), Outcome::Applied);
    cache.assert_settled();
    cache.destinations = old;
    assert_eq!(cache.announce(), Outcome::Stale);
}

/// A place that changed is a move.
#[test]
fn a_changed_path_moves_the_files() {
    let mut cache = settled(Story::request());
    destination(&mut cache.destinations, "dev", DEV, location("git", "elsewhere"));
    cache.announce();
    let (git, serial) = cache.asked().remove(0);
    cache.written_in(&git, serial);
    assert_eq!(cache.files(), ["one@dev", "two@dev", "one@elsewhere", "two@elsewhere"]);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@elsewhere", "two@elsewhere"]);
}

/// The same from one store to another: the old one is cleaned.
#[test]
fn a_changed_store_moves_the_files() {
    let mut cache = settled(Story::request());
    destination(&mut cache.destinations, "dev", DEV, location("git-2", "dev"));
    cache.announce();
    cache.written();
    cache.assert_settled();
    let stores: Vec<_> = cache.lane.footprint.placements.iter().map(|p| p.store.clone()).collect();
    assert_eq!(stores, [store("git-2"), store("git-2")]);
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// The result of the first pipeline brings the news; the second one's files follow although its run fails.
#[test]
fn all_outputs_follow_news_that_came_with_one() {
    let mut cache = settled(Story::request());
    destination(&mut cache.destinations, "dev", DEV, location("git", "elsewhere"));
    cache.plan(2, &["one", "two"]);
    cache.succeeds();
    cache.fails();
    cache.written();
    assert_eq!(cache.announce(), Outcome::Duplicate);
    assert_eq!(cache.files(), ["one@dev", "two@dev", "one@elsewhere", "two@elsewhere"]);
}

/// A view that is older than the lane's own places the output, but is not taken for the newest.
#[test]
fn an_older_view_is_corrected_by_the_sweep() {
    let mut cache = Story::request();
    let old = cache.destinations.clone();
    cache.plan(1, &["one"]);
    cache.succeeds();
    cache.written();
    cache.plan(2, &["one"]);
    destination(&mut cache.destinations, "dev", DEV, location("git", "elsewhere"));
    cache.announce();
    let new = std::mem::replace(&mut cache.destinations, old);
    cache.succeeds();
    cache.destinations = new;
    assert_eq!(cache.announce(), Outcome::Applied);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@elsewhere"]);
}

/// A Destination is deleted with cleanup `none`: its files stay, are no longer ours, and the output goes elsewhere.
#[test]
fn a_destination_that_vanished_is_abandoned() {
    let mut cache = settled(Story::request());
    cache.destination("other", PROD);
    cache.destination_gone("dev");
    cache.announce();
    cache.written();
    assert!(cache.lane.is_settled());
    assert_eq!(cache.files(), ["one@dev", "two@dev", "one@other", "two@other"]);
    assert!(cache.lane.notice.as_deref().is_some_and(|notice| notice.contains("dev/resources")));
    cache.delete(&[]);
    cache.written();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// kratix-F11: a Destination is deleted with cleanup `all`: it is emptied at once, wherever the run stands.
#[test]
fn a_destination_with_cleanup_is_emptied() {
    let mut cache = settled(Story::request());
    cache.plan(2, &["one", "two"]);
    cache.fails();
    cache.change("dev", |dev| (dev.terminating, dev.cleanup) = (true, true));
    cache.announce();
    cache.written();
    assert_eq!(cache.state(), "failed 2/0 unscheduled");
    assert_eq!(cache.files(), Vec::<String>::new());
    assert!(cache.lane.footprint.is_empty());
}

/// The same for a complete lane: it goes elsewhere, or waits.
#[test]
fn a_complete_lane_leaves_a_destination_with_cleanup() {
    let mut cache = settled(Story::request());
    cache.change("dev", |dev| (dev.terminating, dev.cleanup) = (true, true));
    cache.announce();
    cache.written();
    assert_eq!(cache.state(), "writing 1 unscheduled");
    assert_eq!(cache.files(), Vec::<String>::new());
    cache.destination("other", PROD);
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@other", "two@other"]);
}

/// The only Destination vanishes while a write to it is unanswered: nobody is asked any more.
#[test]
fn a_vanished_destination_is_not_written() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds();
    let (git, late) = cache.asked().remove(0);
    cache.destination_gone("dev");
    cache.announce();
    assert_eq!(cache.asked(), []);
    assert_eq!(cache.state(), "writing 1 unscheduled");
    assert_eq!(cache.says_written(&git, late), Outcome::Stale);
    cache.destination("dev", DEV);
    cache.announce();
    assert_eq!(cache.says_written(&git, late), Outcome::Stale, "the old answer is not one to the new write");
    cache.written();
    cache.assert_settled();
}

/// A Destination vanishes while what is leaving stands there.
#[test]
fn a_prune_at_a_vanished_destination_is_given_up() {
    let mut cache = Story::request();
    cache.destination("prod", PROD);
    cache.plan(1, &["one"]);
    cache.succeeds_with(&[group_for(".", "a", DEV)]);
    cache.written();
    cache.plan(2, &["one"]);
    cache.succeeds_with(&[group_for(".", "b", PROD)]);
    let (git, serial) = cache.asked().remove(0);
    cache.written_in(&git, serial);
    assert_eq!(cache.state(), "pruning 2");
    cache.destination_gone("dev");
    cache.announce();
    cache.written();
    assert!(cache.lane.is_settled());
    assert_eq!(cache.files(), ["one@dev", "one@prod"]);
}

/// The store is gone, though its former Destination has moved on to another.
#[test]
fn what_stands_in_a_store_that_is_gone_is_abandoned() {
    let mut cache = settled(Story::request());
    destination(&mut cache.destinations, "dev", DEV, location("git-2", "dev"));
    cache.destinations.stores.remove(&store("git"));
    cache.announce();
    assert_eq!(cache.asked(), [(store("git-2"), 1)]);
    cache.written();
    assert!(cache.lane.is_settled());
}

/// A Destination that names a store that is not there: its files stay ours, and move when it is.
#[test]
fn a_destination_without_a_store_keeps_its_files() {
    let mut cache = settled(Story::request());
    cache.change("dev", |dev| dev.location = Some(location("git-2", "dev")));
    cache.announce();
    assert_eq!(cache.state(), "writing 1 unscheduled");
    assert_eq!(cache.lane.notice, None);
    destination(&mut cache.destinations, "dev", DEV, location("git-2", "dev"));
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert!(cache.held.keys().all(|place| place.repository.contains("git-2")));
}

/// A store object that is missing for a moment: nothing is lost when it comes back.
#[test]
fn a_store_that_comes_back_is_written_again() {
    let mut cache = settled(Story::request());
    cache.destinations.stores.clear();
    cache.destinations.revision += 1;
    cache.announce();
    assert_eq!(cache.state(), "writing 1 unscheduled");
    cache.destinations.stores.insert(store("git"));
    cache.destinations.revision += 1;
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// A Destination is renamed: one goes, one with the same place comes, and the lane hears of both at once.
#[test]
fn a_renamed_destination_is_confirmed_anew() {
    let mut cache = settled(Story::request());
    cache.destination_gone("dev");
    destination(&mut cache.destinations, "renamed", DEV, location("git", "dev"));
    cache.announce();
    assert_eq!(cache.state(), "writing 1", "what stood there was given up, so it is asked for again");
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@dev", "two@dev"]);
}

/// A move of what was never acknowledged: nothing more is written at the old place.
#[test]
fn what_was_never_acknowledged_moves_without_a_trace() {
    let mut cache = Story::request();
    cache.plan(1, &["one"]);
    cache.succeeds_with(&[group(".", "a")]);
    cache.write_fails();
    destination(&mut cache.destinations, "dev", DEV, location("git", "elsewhere"));
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@elsewhere"]);
}
