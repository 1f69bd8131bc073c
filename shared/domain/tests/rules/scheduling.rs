//! Rule 6, first half: which Destinations an output goes to, by its selectors.

use domain::lane::Waiting;

use crate::story::{Story, group, group_for};

const DEV: &[(&str, &str)] = &[("env", "dev")];
const PROD: &[(&str, &str)] = &[("env", "prod")];

/// Two Destinations, of which `prod` matches `env=prod`.
fn with_prod(mut story: Story) -> Story {
    story.destination("prod", PROD);
    story
}

/// Runs one pipeline that leaves these groups.
fn run(story: &mut Story, spec: u32, groups: &[domain::output::OutputGroup]) {
    story.plan(spec, &["one"]);
    story.succeeds_with(groups);
    story.written();
}

fn misplaced(story: &Story) -> Vec<(String, bool)> {
    let placements = story.lane.footprint.placements.iter();
    placements.map(|p| (p.destination.clone(), p.misplaced)).collect()
}

/// kratix-S1: one match, one placement.
#[test]
fn a_request_goes_to_the_destination_that_matches() {
    let mut cache = with_prod(Story::request());
    cache.promise_selects(&[PROD]);
    run(&mut cache, 1, &[group(".", "a")]);
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@prod"]);
    let name = &cache.lane.footprint.placements[0].name;
    assert!(name.starts_with("redis-cache-one-") && name.ends_with(".prod-5058f"), "{name}");
}

/// kratix-S2: what no Destination takes is named; the others are placed.
#[test]
fn an_unscheduled_output_is_waited_for() {
    let mut cache = with_prod(Story::request());
    run(&mut cache, 1, &[group_for(".", "a", PROD), group_for("x", "b", &[("env", "qa")])]);
    assert_eq!(cache.files(), ["one@prod"]);
    assert_eq!(cache.state(), "writing 1 unscheduled");
    let Waiting::Unscheduled { outputs } = cache.waits_for() else { panic!("{:?}", cache.waiting()) };
    assert_eq!(outputs.iter().map(|output| &*output.directory).collect::<Vec<_>>(), ["x"]);
    assert_eq!(cache.waiting().as_deref(), Some("no Destination matches one/x (env=qa)"));

    cache.destination("qa", &[("env", "qa")]);
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@prod", "one/9dd4e@qa"]);
}

/// kratix-S3, kratix-S11: it stays where it is while that matches, though others match too.
#[test]
fn a_placed_request_stays_where_it_is() {
    let mut cache = with_prod(Story::request());
    run(&mut cache, 1, &[group_for(".", "a", PROD)]);
    for spec in 2..10 {
        cache.destination(&format!("prod-{spec}"), PROD);
        run(&mut cache, spec, &[group_for(".", &format!("a{spec}"), PROD)]);
        cache.assert_settled();
        assert_eq!(misplaced(&cache), [("prod".into(), false)]);
    }
}

/// kratix-S5: each group has a placement of its own.
#[test]
fn each_group_goes_its_own_way() {
    let mut cache = with_prod(Story::request());
    cache.promise_selects(&[DEV]);
    run(&mut cache, 1, &[group(".", "a"), group_for("x", "b", PROD), group_for("y", "c", DEV)]);
    cache.assert_settled();
    assert_eq!(cache.files(), ["one/41529@dev", "one@dev", "one/9dd4e@prod"]);
}

/// kratix-S6: a change of the Destination's labels moves nothing; it is misplaced and still written.
#[test]
fn a_relabelled_destination_keeps_its_files() {
    let mut cache = with_prod(Story::request());
    run(&mut cache, 1, &[group_for(".", "a", PROD)]);
    cache.destination("other", PROD);
    cache.change("prod", |prod| prod.labels.clear());
    cache.announce();
    cache.assert_settled();
    assert_eq!(misplaced(&cache), [("prod".into(), true)]);

    run(&mut cache, 2, &[group_for(".", "b", PROD)]);
    cache.assert_settled();
    assert_eq!(misplaced(&cache), [("prod".into(), true)]);

    cache.destination("prod", PROD);
    cache.announce();
    cache.assert_settled();
    assert_eq!(misplaced(&cache), [("prod".into(), false)]);
}

/// kratix-S7: on a key that several name, the Promise wins over its workflow, and that over the request's.
#[test]
fn the_promise_has_the_last_word() {
    let mut cache = with_prod(Story::request());
    cache.destination("gold", &[("env", "prod"), ("tier", "gold")]);
    cache.promise_selects(&[PROD, DEV]);
    cache.needs_promise(1);
    cache.plan(1, &["one"]);
    cache.gate_opens_with(&[("tier", "gold"), ("env", "test")]);
    cache.succeeds_with(&[group_for(".", "a", &[("tier", "silver"), ("env", "dev")])]);
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@gold"]);
}

/// kratix-S8: a dependency goes to all that match, and to those that come later.
#[test]
fn a_dependency_goes_to_all_that_match() {
    let mut redis = with_prod(Story::promise());
    redis.promise_selects(&[DEV]);
    run(&mut redis, 1, &[group(".", "a")]);
    assert_eq!(redis.files(), ["one@dev"]);
    redis.destination("dev-2", DEV);
    redis.announce();
    assert_eq!(redis.state(), "writing 1");
    redis.written();
    redis.assert_settled();
    assert_eq!(redis.files(), ["one@dev-2", "one@dev"]);
}

/// kratix-S9: without a selector to all but strict ones with labels; a change reaches all of them.
#[test]
fn a_dependency_without_selector_goes_to_all_but_strict_ones() {
    let mut redis = with_prod(Story::promise());
    redis.destination("strict", &[("env", "lab")]);
    redis.change("strict", |strict| strict.strict = true);
    for spec in 1..3 {
        run(&mut redis, spec, &[group(".", &format!("a{spec}"))]);
        redis.assert_settled();
        assert_eq!(redis.files(), ["one@dev", "one@prod"]);
    }
}

/// Unlike kratix-S10 on purpose: the run's own selector has changed, so what no longer matches goes.
#[test]
fn a_narrowed_selector_takes_the_files_away() {
    let mut redis = with_prod(Story::promise());
    run(&mut redis, 1, &[group(".", "a")]);
    assert_eq!(redis.files(), ["one@dev", "one@prod"]);
    redis.promise_selects(&[PROD]);
    run(&mut redis, 2, &[group(".", "a")]);
    redis.assert_settled();
    assert_eq!(redis.files(), ["one@prod"]);
}

/// Rule 6: place at the new, confirm, prune the old.
#[test]
fn a_moved_selector_moves_the_files_without_a_gap() {
    let mut cache = with_prod(Story::request());
    run(&mut cache, 1, &[group_for(".", "a", DEV)]);
    cache.plan(2, &["one"]);
    cache.succeeds_with(&[group_for(".", "b", PROD)]);
    let (git, serial) = cache.asked().remove(0);
    cache.written_in(&git, serial);
    assert_eq!(cache.files(), ["one@dev", "one@prod"]);
    assert_eq!(cache.state(), "pruning 2");
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@prod"]);
}

/// The selector moves to where nothing matches: the old place stays until there is a new one.
#[test]
fn a_selector_that_matches_nothing_keeps_the_old_files() {
    let mut cache = Story::request();
    run(&mut cache, 1, &[group_for(".", "a", DEV)]);
    run(&mut cache, 2, &[group_for(".", "b", PROD)]);
    assert_eq!(cache.state(), "writing 2 unscheduled");
    assert_eq!(cache.files(), ["one@dev"]);
    cache.destination("prod", PROD);
    cache.announce();
    cache.written();
    cache.assert_settled();
    assert_eq!(cache.files(), ["one@prod"]);
}

/// A group without files places nothing, but its selector counts for the Promise's requests.
#[test]
fn a_selector_without_files_counts() {
    let mut redis = with_prod(Story::promise());
    let mut empty = group_for(".", "", PROD);
    empty.files = 0;
    run(&mut redis, 1, &[empty]);
    redis.assert_settled();
    assert_eq!(redis.files(), Vec::<String>::new());
    assert_eq!(redis.lane.workflow_selector, crate::story::labels(PROD));
}

/// A Promise's workflow writes selectors for its own default group and for its requests.
#[test]
fn a_promise_workflow_selects() {
    let mut redis = with_prod(Story::promise());
    run(&mut redis, 1, &[group_for(".", "a", PROD)]);
    assert_eq!(redis.files(), ["one@prod"]);
    assert_eq!(redis.lane.workflow_selector, crate::story::labels(PROD));
    run(&mut redis, 2, &[group(".", "a")]);
    redis.assert_settled();
    assert_eq!(redis.files(), ["one@dev", "one@prod"], "the next run's workflow says nothing any more");
}
