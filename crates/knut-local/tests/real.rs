//! Real servers, on the shared installation: `KNUT_HOME`, else knut's default home. It is installed if it is not there.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "clippy exempts test functions only, not what they share"
)]

mod support;

use std::env;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use knut_local::{
    Address, ErrorKind, Home, InstallOptions, Installation, JavaSearch, ProbeError, Progress, ProjectFolder, Server,
    ServerOptions, Status, Stopped,
};
use support::{config_get, contains, execute, probe};

fn installation() -> Installation {
    let home = Home::from_env().unwrap();
    knut_local::install(&home, &InstallOptions::default(), &mut |_| ()).unwrap()
}

/// A project whose server is ended when the test ends, however it ends.
struct Project {
    folder: ProjectFolder,
    _temporary: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        Self::named("project")
    }

    fn named(name: &str) -> Self {
        let temporary = tempfile::Builder::new().prefix("knut-test").tempdir().unwrap();
        let root = temporary.path().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { folder: ProjectFolder::new(root).unwrap(), _temporary: temporary }
    }

    fn start(&self) -> Server {
        self.start_with(&ServerOptions::default()).unwrap()
    }

    fn start_with(&self, options: &ServerOptions) -> knut_local::Result<Server> {
        let start = Instant::now();
        let server = knut_local::start(&installation(), &self.folder, options, &mut probe, &mut |_| ());
        if let Ok(server) = &server {
            let (pid, java) = (server.pid(), server.java_version());
            println!("process {pid} on Java {java} answered after {:?}", start.elapsed());
        }
        server
    }

    fn stop(&self) -> Stopped {
        knut_local::stop(&self.folder, &mut |_| ()).unwrap()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let stopped = knut_local::stop(&self.folder, &mut |_| ());
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.log_path()).unwrap_or_default();
            println!("{stopped:?}\n{log}");
        }
    }
}

fn run(address: &Address, sql: &str) {
    assert!(!execute(address, sql).is_empty(), "{sql}");
}

#[test]
fn a_server_starts_is_reused_and_stops_and_its_tables_stay() {
    let project = Project::new();
    let first = project.start();
    assert!(!first.is_reused());
    assert_eq!(first.spark_version(), knut_local::SPARK_VERSION);
    let Status::Running(found) = Server::find(&project.folder).unwrap() else {
        panic!("it runs");
    };
    assert_eq!((found.pid(), found.address()), (first.pid(), first.address()));
    let second = project.start();
    assert!(second.is_reused());
    assert_eq!((second.pid(), second.address()), (first.pid(), first.address()));

    run(first.address(), "CREATE TABLE t (s STRING)");
    run(first.address(), "INSERT INTO t VALUES ('first-marker')");
    let pid = first.pid();
    assert_eq!(project.stop(), Stopped::Ended { pid, killed: false });
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);
    assert_eq!(project.stop(), Stopped::NotRunning);
    assert!(first.log_path().is_file(), "its log is kept");

    let third = project.start();
    assert_ne!(third.address().token(), first.address().token());
    run(third.address(), "INSERT INTO t VALUES ('second-marker')");
    let rows = execute(third.address(), "SELECT * FROM t");
    assert!(contains(&rows, "first-marker") && contains(&rows, "second-marker"));

    let litter: Vec<_> = fs::read_dir(project.folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(litter, [".knut"], "everything is in one folder");
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_is_this_machines_and_this_users_alone() {
    let project = Project::new();
    let server = project.start();
    let pid = server.pid();

    let listeners = listeners(pid);
    assert!(listeners.contains(&format!("127.0.0.1:{}", server.address().port())), "{listeners:?}");
    assert!(listeners.iter().all(|address| address.starts_with("127.0.0.1:")), "{listeners:?}");

    let token = server.address().token().reveal();
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!contains(&arguments, token), "others can read a process's arguments");
    let socket = server.address().socket();
    assert!(!config_get(socket, token, "spark.master").unwrap().is_empty());
    for wrong in ["", "x", &token[1..]] {
        assert!(config_get(socket, wrong, "spark.master").unwrap().is_empty(), "{wrong}");
    }
    let text = format!("{server:?}");
    assert!(!text.contains(token), "{text}");

    // Fields 5 and 6 of `stat`, after the name in parentheses: its own group, so that Ctrl-C does not reach it.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(fields[2], pid.to_string());
}

/// Where the process listens on TCP, IPv4 addresses in IPv6 form as IPv4.
#[cfg(target_os = "linux")]
fn listeners(pid: u32) -> Vec<String> {
    let sockets: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .map(|target| target.display().to_string())
        .collect();
    let mut listeners = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap();
        for line in table.lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            let listens = fields[3] == "0A";
            if listens && sockets.contains(&format!("socket:[{}]", fields[9])) {
                let (ip, port) = fields[1].split_once(':').unwrap();
                let port = u16::from_str_radix(port, 16).unwrap();
                // The kernel's words are in the machine's byte order.
                let loopback = ["0100007F", "0000000000000000FFFF00000100007F"];
                let ip = if loopback.contains(&ip) { "127.0.0.1" } else { ip };
                listeners.push(format!("{ip}:{port}"));
            }
        }
    }
    listeners
}

#[test]
fn a_port_that_was_asked_for_is_used_or_refused() {
    let project = Project::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = ServerOptions { port: Some(port), ..ServerOptions::default() };
    let error = project.start_with(&options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PortTaken);
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);

    drop(taken);
    let server = project.start_with(&options).unwrap();
    assert_eq!(server.address().port(), port);
    assert!(project.start_with(&options).unwrap().is_reused());
    assert!(project.start().is_reused(), "no wish fits any port");

    let other = |change: fn(&mut ServerOptions)| {
        let mut options = ServerOptions::default();
        change(&mut options);
        let error = project.start_with(&options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyRunning, "{options:?}");
        assert!(error.hint().unwrap().contains("knut local stop"));
    };
    other(|options| options.port = Some(1));
    other(|options| options.memory_mib = Some(3000));
    other(|options| {
        options.confs.insert("spark.x".to_owned(), "1".to_owned());
    });
}

#[test]
fn any_name_of_a_project_works() {
    let long = format!("größe 日本 with spaces {}", "and long ".repeat(22));
    let odd = r#"it's "quoted" [a-b] {x,y} $HOME ${user.home} %20 #1; * ? \ a=b & 日本"#;
    // The odd one is opened again, because that takes other ways through Spark and its metastore.
    for (name, n_starts) in [(odd, 2), (long.trim_end(), 1)] {
        let project = Project::named(name);
        for _ in 0..n_starts {
            let server = project.start();
            let address = server.address();
            run(address, "CREATE TABLE IF NOT EXISTS t (s STRING, p STRING) PARTITIONED BY (p)");
            run(address, "INSERT INTO t VALUES ('marker-1', '[x] y')");
            run(address, "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT count(*) AS n FROM t");
            let rows = execute(address, "SELECT s FROM t WHERE p = '[x] y'");
            assert!(contains(&rows, "marker-1"), "{name}");
            project.stop();
        }
        let files = fs::read_dir(project.folder.knut_folder().join("warehouse/t")).unwrap();
        assert!(files.count() > 0, "the files are in the project: {name}");
    }
}

#[test]
fn of_two_starts_at_once_one_starts_and_the_other_reuses() {
    let project = Project::new();
    let servers: Vec<_> = thread::scope(|scope| {
        let starts: Vec<_> = (0..2).map(|_| scope.spawn(|| project.start())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert_eq!(servers[0].pid(), servers[1].pid());
    assert_ne!(servers[0].is_reused(), servers[1].is_reused());
}

#[test]
fn a_server_whose_starter_was_killed_is_taken_over() {
    // This very test, run as the knut that is killed, only starts; its probe never succeeds.
    if let Some(root) = env::var_os("KNUT_TEST_KILLED") {
        let never = &mut |_: &Address| Err(ProbeError::NotReady("not yet".into()));
        let project = ProjectFolder::new(root).unwrap();
        let options = ServerOptions::default();
        knut_local::start(&installation(), &project, &options, never, &mut |_| ()).unwrap();
        return;
    }
    let project = Project::new();
    installation();
    let mut knut = Command::new(env::current_exe().unwrap())
        .args(["--exact", "a_server_whose_starter_was_killed_is_taken_over"])
        .env("KNUT_TEST_KILLED", project.folder.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let pid = loop {
        if let Status::Starting { pid } = Server::find(&project.folder).unwrap() {
            break pid;
        }
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    };
    knut.kill().unwrap();
    knut.wait().unwrap();
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Starting { pid });
    assert_eq!(project.start().pid(), pid);
    assert!(project.start().is_reused());
}

#[test]
fn a_server_that_was_killed_is_noticed_and_its_tables_stay() {
    let project = Project::new();
    let first = project.start();
    run(first.address(), "CREATE TABLE t AS SELECT 'killed-marker' AS s");
    let killed = Command::new("kill").args(["-9", &first.pid().to_string()]).status();
    assert!(killed.unwrap().success());
    let start = Instant::now();
    while !matches!(Server::find(&project.folder).unwrap(), Status::Stale { pid: None, .. }) {
        assert!(start.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(project.stop(), Stopped::NotRunning);
    let second = project.start();
    assert!(!second.is_reused());
    assert!(contains(&execute(second.address(), "SELECT * FROM t"), "killed-marker"));
}

#[test]
fn a_server_whose_state_is_lost_or_foreign_is_never_joined_by_a_second_and_can_be_stopped() {
    let project = Project::new();
    let state = project.folder.knut_folder().join("server/server.json");
    let server = project.start();
    let pid = server.pid();
    let whole = fs::read_to_string(&state).unwrap();
    let newer = whole.replacen("\"format\": 1", "\"format\": 1000", 1);
    for text in [Some("{\"format\": 1,"), Some(newer.as_str()), None] {
        match text {
            Some(text) => fs::write(&state, text).unwrap(),
            None => fs::remove_file(&state).unwrap(),
        }
        let status = Server::find(&project.folder).unwrap();
        assert!(matches!(status, Status::Stale { pid: Some(found), .. } if found == pid), "{status:?}");
        let error = project.start_with(&ServerOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyRunning, "{error:?}");
    }
    let version = format!("\"spark_version\": \"{}\"", knut_local::SPARK_VERSION);
    assert!(whole.contains(&version), "{whole}");
    fs::write(&state, whole.replace(&version, "\"spark_version\": \"4.1.0\"")).unwrap();
    let error = project.start_with(&ServerOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyRunning);
    assert!(error.to_string().contains("Spark 4.1.0"), "{error}");

    fs::write(&state, &whole).unwrap();
    assert_eq!(project.start().pid(), pid, "nothing was lost yet");

    fs::remove_dir_all(project.folder.root()).unwrap();
    let stopped = project.stop();
    assert!(matches!(stopped, Stopped::Ended { pid: found, .. } if found == pid), "{stopped:?}");
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);
}

#[test]
fn a_start_that_fails_says_why_and_leaves_no_process() {
    let project = Project::new();
    let mut options = ServerOptions::default();
    options.confs.insert("spark.serializer".to_owned(), "no.such.Serializer".to_owned());
    let error = project.start_with(&options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ServerExited);
    assert!(error.details().iter().any(|line| line.contains("no.such.Serializer")), "{error:?}");
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);

    let pids = &mut Vec::new();
    let mut start = |options: &ServerOptions, probe: &mut dyn FnMut(&Address) -> Result<(), ProbeError>| {
        let progress = &mut |step| {
            if let Progress::StartingServer { pid } = step {
                pids.push(pid);
            }
        };
        let error = knut_local::start(&installation(), &project.folder, options, probe, progress);
        error.unwrap_err()
    };
    let options = ServerOptions { start_timeout: Duration::from_secs(1), ..ServerOptions::default() };
    let error = start(&options, &mut probe);
    assert_eq!(error.kind(), ErrorKind::ServerNotReady);
    assert!(error.to_string().contains("within 1 s"), "{error}");

    let error = start(&ServerOptions::default(), &mut |_| Err(ProbeError::Refused("other".into())));
    assert_eq!(error.kind(), ErrorKind::ServerNotReady);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        let gone = Command::new("kill").args(["-0", &pid.to_string()]).output().unwrap();
        assert!(!gone.status.success(), "process {pid} still runs");
    }
    assert_eq!(Server::find(&project.folder).unwrap(), Status::Stopped);
}

#[test]
fn where_there_is_no_java_the_installed_one_runs_the_server_and_its_tables() {
    let java = JavaSearch { java_home: None, path: None };
    let options = InstallOptions { java: java.clone(), ..InstallOptions::default() };
    knut_local::install(&Home::from_env().unwrap(), &options, &mut |_| ()).unwrap();
    let project = Project::new();
    let options = ServerOptions { java, ..ServerOptions::default() };
    let server = project.start_with(&options).unwrap();
    assert!(server.java_version().starts_with("25."), "{server:?}");
    run(server.address(), "CREATE TABLE t AS SELECT 'java-marker' AS s");
    assert!(contains(&execute(server.address(), "SELECT * FROM t"), "java-marker"));
}
