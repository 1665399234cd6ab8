//! The command line of a server: one JVM that runs Spark's Connect server class, bound to this machine and this
//! project's folder. Pure apart from reading the machine's memory: nothing is started here.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::installation::Installation;
use crate::java::Java;
use crate::options::ServerOptions;
use crate::process::{SERVER_CLASS, id_argument, project_argument};
use crate::project::ProjectFolder;
use crate::server::Token;

/// The server's log settings; written into the project's server folder at each start.
pub(crate) const LOG4J: &str = include_str!("log4j2.properties");
pub(crate) const LOG4J_FILE: &str = "log4j2.properties";

/// Packages that Spark reaches into. Source: Spark 4.3, `JavaModuleOptions`, less `jdk.incubator.vector`: packaged
/// JDKs do not have that module, and Spark does without it.
const OPENED: [&str; 15] = [
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
];

/// The rest of what Spark's own launcher passes. Source: as above.
const JVM_FLAGS: [&str; 6] = [
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
];

const MIB: u64 = 1024 * 1024;

/// All that a server's command line is made of.
pub(crate) struct Launch<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) project: &'a ProjectFolder,
    pub(crate) options: &'a ServerOptions,
    pub(crate) java: &'a Java,
    /// The project's `.knut` folder, by the path that the server is to call it.
    pub(crate) knut_folder: &'a Path,
    pub(crate) id: &'a str,
    pub(crate) token: &'a Token,
    pub(crate) memory_mib: u64,
}

impl Launch<'_> {
    /// The command, less its input and output.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.java.program);
        command.args(self.arguments());
        // Relative paths in a project's SQL are the project's.
        command.current_dir(self.project.root());
        for (name, _) in std::env::vars_os() {
            // Settings of another Spark on this machine (SPARK_LOCAL_DIRS, SPARK_CONF_DIR, …) are not for this one.
            if name.to_string_lossy().starts_with("SPARK_") {
                command.env_remove(name);
            }
        }
        command
            .env("SPARK_HOME", self.installation.spark_home())
            // In the environment, because anyone on this machine may read a process's arguments.
            .env("SPARK_CONNECT_AUTHENTICATE_TOKEN", self.token.reveal())
            // Keeps whatever listens besides the configured ports to this machine.
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            // Under a locale without UTF-8, Java 17 cannot name files outside ASCII.
            .env("LC_ALL", "C.UTF-8");
        command
    }

    fn arguments(&self) -> Vec<String> {
        let inside = |path: &str| self.knut_folder.join(path).display().to_string();
        let temporary = inside("server/tmp");

        let mut arguments = vec![
            id_argument(self.id),
            project_argument(&self.project.knut_folder()),
            format!("-Xmx{}m", self.memory_mib),
            // Else each JVM keeps a file in /tmp, which a killed one leaves there.
            "-XX:-UsePerfData".to_owned(),
            format!("-XX:ErrorFile={}", inside("server/crash_%p.log")),
        ];
        arguments.extend(OPENED.map(|package| format!("--add-opens={package}=ALL-UNNAMED")));
        arguments.extend(JVM_FLAGS.map(str::to_owned));

        let mut property = |key: &str, value: &str| arguments.push(format!("-D{key}={value}"));
        property("file.encoding", "UTF-8");
        property("java.io.tmpdir", &temporary);
        property("log4j2.configurationFile", &inside(&format!("server/{LOG4J_FILE}")));
        property("derby.system.home", &inside("metastore"));
        property("derby.stream.error.file", &inside("server/derby.log"));

        // What a user may change.
        property("spark.app.name", "knut");
        property("spark.master", "local[*]");
        property("spark.ui.enabled", "false");
        property("spark.local.dir", &temporary);
        for (key, value) in &self.options.confs {
            property(key, value);
        }

        // What keeps the server to this machine and to its user. The last of two equal properties counts.
        property("spark.driver.host", "127.0.0.1");
        property("spark.driver.bindAddress", "127.0.0.1");
        property("spark.connect.grpc.binding.address", "127.0.0.1");
        // Spark's own ports (driver, blocks) take no one's commands either: the secret is made in the process.
        property("spark.authenticate", "true");
        // With 0 the system gives a free port; with a fixed one Spark must not quietly take the next.
        let port = self.options.port.unwrap_or(0).to_string();
        property("spark.connect.grpc.binding.port", &port);
        property("spark.connect.grpc.port.maxRetries", "0");
        property("spark.port.maxRetries", "0");

        // Tables, their files and what is known of them live and die together, in the project.
        property("spark.sql.catalogImplementation", "hive");
        property("spark.sql.warehouse.dir", &inside("warehouse"));
        // Relative to `derby.system.home`: no path can break this URL.
        let url = format!("jdbc:derby:;databaseName={};create=true", crate::location::DATABASE);
        property("spark.hadoop.javax.jdo.option.ConnectionURL", &url);
        // Else Hive runs chgrp and chmod for each table, and they fail on paths they cannot read.
        property("spark.hadoop.hive.warehouse.subdir.inherit.perms", "false");

        let jars = self.installation.spark_home().join("jars").join("*");
        arguments.extend(["-cp".to_owned(), jars.display().to_string(), SERVER_CLASS.to_owned()]);
        arguments
    }
}

/// The heap for a server that was asked none: a quarter of what the machine or container has, at least 1 GiB (Spark
/// refuses less than half of that) and at most 4 GiB; 2 GiB if the machine does not tell.
pub(crate) fn default_memory_mib() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo_total_bytes(&text));
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    quarter_mib([machine, container].into_iter().flatten().min())
}

fn quarter_mib(memory_bytes: Option<u64>) -> u64 {
    memory_bytes.map_or(2048, |bytes| (bytes / 4 / MIB).clamp(1024, 4096))
}

fn meminfo_total_bytes(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installation::write_marker;
    use crate::java::JavaOrigin;
    use crate::{Home, SPARK_VERSION};

    fn with_launch(options: &ServerOptions, check: impl FnOnce(&Launch<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        fs::create_dir_all(home.spark()).unwrap();
        write_marker(&home.spark(), "pyspark", SPARK_VERSION).unwrap();
        let installation = Installation::find(&home).unwrap().unwrap();
        let project = ProjectFolder::new(folder.path()).unwrap();
        let java = Java { program: "java".into(), version: "17".to_owned(), origin: JavaOrigin::Path };
        check(&Launch {
            installation: &installation,
            project: &project,
            options,
            java: &java,
            knut_folder: &project.knut_folder(),
            id: "some-id",
            token: &Token::random(),
            memory_mib: 1024,
        });
    }

    #[test]
    fn the_token_is_in_the_environment_and_not_in_the_arguments() {
        with_launch(&ServerOptions::default(), |launch| {
            let token = launch.token.reveal();
            let command = launch.command();
            assert!(command.get_args().all(|argument| !argument.to_string_lossy().contains(token)));
            let variable = command.get_envs().find(|(name, _)| *name == "SPARK_CONNECT_AUTHENTICATE_TOKEN");
            assert_eq!(variable.unwrap().1.unwrap(), token);
        });
    }

    #[test]
    fn a_users_settings_cannot_open_the_server_to_others() {
        let mut options = ServerOptions::default();
        for key in ["spark.driver.bindAddress", "spark.connect.grpc.binding.address", "spark.authenticate"] {
            options.confs.insert(key.to_owned(), "bad".to_owned());
        }
        options.confs.insert("spark.master".to_owned(), "local[1]".to_owned());
        with_launch(&options, |launch| {
            let arguments = launch.arguments();
            let last = |key: &str| {
                let start = format!("-D{key}=");
                let found = arguments.iter().rev().find_map(|a| a.strip_prefix(&start));
                found.unwrap().to_owned()
            };
            for key in options.confs.keys().filter(|key| *key != "spark.master") {
                assert_ne!(last(key), "bad", "{key}");
            }
            assert_eq!(last("spark.master"), "local[1]");
        });
    }

    #[test]
    fn a_quarter_of_the_memory_is_taken_within_bounds() {
        const GIB: u64 = 1024 * MIB;
        let cases = [(None, 2048), (Some(GIB), 1024), (Some(8 * GIB), 2048), (Some(64 * GIB), 4096)];
        for (memory, expected) in cases {
            assert_eq!(quarter_mib(memory), expected, "{memory:?}");
        }
        assert_eq!(meminfo_total_bytes("MemTotal:       1024 kB\nx"), Some(1024 * 1024));
        assert_eq!(meminfo_total_bytes("MemFree: 1 kB"), None);
    }
}
