//! Tests of the settings.

use super::*;

#[test]
fn keys_have_names_of_their_own() {
    for key in KEYS {
        assert!(KEYS.iter().filter(|other| other.name == key.name).count() == 1, "{}", key.name);
    }
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let mut settings = Settings::default();
    let mut refused = |name: &str, raw: RawValue| {
        assert!(settings.set(name, &raw, SettingSource::Default).is_err(), "{name}");
    };
    refused("strict", RawValue::Text("yes".into()));
    refused("mailTurns", RawValue::Number(-1.0));
    refused("mailTurns", RawValue::Number(f64::NAN));
    refused("durability", RawValue::Text("paper".into()));
    refused("mesh", RawValue::Text(String::new()));
    refused("wake", RawValue::Object(vec![("loud".into(), RawValue::Bool(true))]));
    refused("nameWords", RawValue::Object(vec![("adjectives".into(), RawValue::List(vec![]))]));
    refused("autoRegisterPaths", RawValue::Text("a,[".into()));
    refused("nosuch", RawValue::Null);
}

#[test]
fn a_pace_of_zero_still_rests_between_two_looks() {
    let mut settings = Settings::default();
    let hour = Duration::from_secs(3600);
    assert_eq!(settings.paced(hour), hour);
    for (pace, seconds) in [(2.0, 7200), (0.01, 36), (0.0, 36)] {
        settings.set("lookPace", &RawValue::Number(pace), SettingSource::Default).unwrap();
        assert_eq!(settings.paced(hour).as_secs(), seconds, "{pace}");
    }
    assert_eq!(settings.paced(Duration::ZERO), Duration::from_millis(50));
}

#[test]
fn folders_in_which_sessions_join() {
    let mut settings = Settings::default();
    let meant = |settings: &Settings, folder: &str| settings.registers_in(folder, "/home/dev");
    assert!(!meant(&settings, "/home/dev/work"));
    settings
        .set("autoRegisterPaths", &RawValue::Text("~/work,/srv/*/app".into()), SettingSource::Default)
        .unwrap();
    assert!(meant(&settings, "/home/dev/work") && meant(&settings, "/home/dev/work/a/b"));
    assert!(meant(&settings, "/srv/x/app/src") && !meant(&settings, "/srv/x"));
    assert!(!meant(&settings, "/home/dev/works"));
    settings.set("autoRegister", &RawValue::Bool(true), SettingSource::Default).unwrap();
    assert!(meant(&settings, "/"));
}

#[test]
fn the_shortcut_decides_about_its_three() {
    let mut settings = Settings::default();
    settings.set("contextMode", &RawValue::Text("minimal".into()), SettingSource::Default).unwrap();
    settings.apply_shortcuts();
    assert_eq!(settings.get("replyHint").unwrap().0, SettingValue::Bool(true));
    assert_eq!(settings.get("registrationContext").unwrap().0, SettingValue::Bool(false));
}

#[test]
fn a_later_file_adds_domains_and_replaces_those_of_the_same_name() {
    let mut settings = Settings::default();
    let words = |word: &str| {
        let list = RawValue::List(vec![RawValue::Text(word.into())]);
        RawValue::Object(vec![("words".into(), list)])
    };
    let domains = |all: &[(&str, &str)]| {
        RawValue::Object(all.iter().map(|(name, word)| ((*name).to_string(), words(word))).collect())
    };
    for file in [&[("auth", "login"), ("ui", "color")][..], &[("auth", "oauth2")]] {
        settings.set("domains", &domains(file), SettingSource::Default).unwrap();
    }
    let found: Vec<(&str, &str)> =
        settings.domains().iter().map(|one| (one.name.as_str(), one.words[0].as_str())).collect();
    assert_eq!(found, [("auth", "oauth2"), ("ui", "color")]);
    for wrong in [
        RawValue::Text("auth".into()),
        RawValue::Object(vec![("auth".into(), RawValue::Text("login".into()))]),
        RawValue::Object(vec![("auth".into(), domains(&[("nosuch", "login")]))]),
        domains(&[("auth", "the")]),
        RawValue::Object((0..21).map(|number| (format!("d{number}"), words("login"))).collect()),
    ] {
        assert!(settings.set("domains", &wrong, SettingSource::Default).is_err(), "{wrong:?}");
    }
    assert_eq!(settings.domains().len(), 2, "what is refused changes nothing");
}

#[test]
fn an_objects_missing_members_keep_what_they_have() {
    let mut settings = Settings::default();
    let object = |name: &str| RawValue::Object(vec![(name.to_string(), RawValue::Bool(true))]);
    settings.set("wake", &RawValue::Bool(false), SettingSource::Default).unwrap();
    settings.set("wake", &object("paste"), SettingSource::Default).unwrap();
    assert_eq!(settings.get("wake").unwrap().0, SettingValue::Wake { is_enabled: false, may_paste: true });
}

#[test]
fn a_later_file_adds_groups_and_replaces_those_of_the_same_name() {
    let mut settings = Settings::default();
    let groups = |all: &[(&str, &str)]| {
        let list = |member: &str| RawValue::List(vec![RawValue::Text(member.into())]);
        RawValue::Object(all.iter().map(|(name, member)| ((*name).to_string(), list(member))).collect())
    };
    for file in [&[("backend", "Robin"), ("web", "@harness:shell")][..], &[("Backend", "@web")]] {
        settings.set("groups", &groups(file), SettingSource::Default).unwrap();
    }
    let found: Vec<(&str, &str)> =
        settings.groups().iter().map(|one| (one.name.as_str(), one.members[0].as_str())).collect();
    assert_eq!(found, [("Backend", "@web"), ("web", "@harness:shell")]);
    let cycle = settings.set("groups", &groups(&[("web", "@backend")]), SettingSource::Default);
    let told = cycle.unwrap_err().to_string();
    assert_eq!(told, "`groups`: a group can't contain itself: @Backend → @web → @Backend");
    for wrong in [
        RawValue::Text("backend".into()),
        RawValue::List(vec![RawValue::Text("Robin".into())]),
        RawValue::Object(vec![("backend".into(), RawValue::Text("Robin".into()))]),
        groups(&[("all", "Robin")]),
        groups(&[("backend", "no name")]),
        RawValue::Object((0..101).map(|number| (format!("g{number}"), RawValue::List(Vec::new()))).collect()),
    ] {
        assert!(settings.set("groups", &wrong, SettingSource::Default).is_err(), "{wrong:?}");
    }
    assert_eq!(settings.groups().len(), 2, "what is refused changes nothing");
}
