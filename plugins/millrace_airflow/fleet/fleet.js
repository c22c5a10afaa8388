// The Fleet page: plain React of the host, no build, nothing from the internet.
(function () {
  "use strict";
  const React = globalThis.React;
  const { Badge, Box, Button, Flex, Heading, HStack, Stat, Table, Text } = globalThis.ChakraUI;
  const { Link, useSearchParams } = globalThis.ReactRouterDOM;
  const h = React.createElement;
  const REFRESH_MS = 5000, SLOW_REFRESH_MS = 60000;
  const COLOURS = {
    healthy: "green", starting: "blue", stopping: "blue", outdated: "blue",
    lagging: "orange", degraded: "orange", "input silent": "orange", stuck: "red", stale: "red",
    dead: "red", "crash loop": "red", "given up": "red", fenced: "red",
  };

  const HELP = "Behind: the age of the oldest message that cannot be read in the tables yet. One batch writes"
    + " bronze, silver and quarantine, so all are as fresh. Last message: the newest that the site's broker has,"
    + " looked for every ten seconds.";

  function connection(seen) {
    if (seen.halted) return "halted";
    return seen.reachable ? "answers" : "away";
  }

  function describeSites(card) {
    const notes = [["away", card.sites_away], ["halted", card.sites_halted]]
      .filter(([, sites]) => sites.length)
      .map(([word, sites]) => `${word}: ${sites.join(", ")}`);
    return [card.sites.length, ...notes].join(", ");
  }

  // --- asking -------------------------------------------------------------------------------

  async function ask(path, options) {
    const answer = await fetch(path, { credentials: "same-origin", ...options });
    if (answer.ok) return answer.status === 204 ? null : answer.json();
    const text = await answer.json().then((body) => body.detail, () => answer.statusText);
    throw new Error(typeof text === "string" ? text : JSON.stringify(text));
  }

  function change(path, body) {
    const headers = { "Content-Type": "application/json" };
    return ask(path, { method: "PATCH", headers, body: JSON.stringify(body) });
  }

  function usePolled(path, everyMs = REFRESH_MS) {
    const [state, set] = React.useState({});
    const look = React.useCallback(
      () => ask(path).then((data) => set({ data }), (error) => set((old) => ({ ...old, error }))),
      [path],
    );
    React.useEffect(() => {
      look();
      const timer = setInterval(look, everyMs);
      return () => clearInterval(timer);
    }, [look, everyMs]);
    return { ...state, look };
  }

  // --- doing: by Airflow's own API, with Airflow's own rights ---------------------------------

  const dagPath = (id) => `/api/v2/dags/${encodeURIComponent(id)}`;

  function pause(id, isPaused) {
    return change(dagPath(id), { is_paused: isPaused });
  }

  async function endShift(id) {
    const found = await ask(`${dagPath(id)}/dagRuns?state=running`);
    for (const run of found.dag_runs) {
      const task = `${dagPath(id)}/dagRuns/${encodeURIComponent(run.dag_run_id)}/taskInstances/supervise`;
      await change(task, { new_state: "failed" });
    }
  }

  const ACTIONS = {
    Start: (id) => pause(id, false),
    Stop: async (id) => { await pause(id, true); await endShift(id); },
    Restart: async (id) => { await pause(id, false); await endShift(id); },
  };
  const SURE = {
    Stop: "The job finishes its batch and ends; it stays away until somebody starts it.",
    Restart: "The job finishes its batch, ends, and is started again.",
  };

  // --- saying ---------------------------------------------------------------------------------

  const number = (n) => (n === null || n === undefined ? "-" : n.toLocaleString("en"));
  const percent = (share) => (share === null ? "-" : `${(share * 100).toFixed(share < 0.1 ? 2 : 1)} %`);

  function span(seconds) {
    if (seconds < 60) return `${Math.round(seconds)} s`;
    if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
    return `${Math.round(seconds / 86400)} d`;
  }

  const age = (time) => (time ? span(Math.max(0, (Date.now() - Date.parse(time)) / 1000)) : "-");
  const utc = (time) => `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const ago = (time) => (time ? `${age(time)} ago` : "-");

  function summary(count, bad) {
    const all = count === 1 ? "1 pipeline" : `${count} pipelines`;
    return bad ? `${all}, ${bad} not healthy` : `${all}, all healthy`;
  }

  function State({ card }) {
    return h(Badge, { colorPalette: COLOURS[card.state] || "gray", title: card.reason }, card.state);
  }

  function Verdict({ card }) {
    const verdict = card.verdict;
    if (!verdict) return "-";
    const words = verdict.passed ? "passed" : `failed: ${verdict.worst}`;
    const colour = verdict.passed ? "green" : "red";
    const page = `/fleet/api/pipelines/${card.name}/quality`;
    return h("a", { href: page, target: "_blank", rel: "noreferrer", title: ago(verdict.at) },
      h(Badge, { colorPalette: colour }, words));
  }

  function Sparkline({ samples }) {
    if (samples.length < 2) return "-";
    const values = samples.map((sample) => sample.rows_per_s);
    const top = Math.max(...values, 1e-9);
    const points = values.map((v, i) => `${(i * 80) / (values.length - 1)},${19 - (v / top) * 18}`);
    const label = `up to ${number(Math.round(top))} rows/s in the last ${span(samples.length * 60)}`;
    return h("svg", { width: 80, height: 20, role: "img", "aria-label": label }, h("title", null, label),
      h("polyline", { points: points.join(" "), fill: "none", stroke: "currentColor", strokeWidth: 1.2 }));
  }

  function Buttons(props) {
    return h(JobButtons, props, h(Button, { size: "xs", variant: "outline", asChild: true },
      h(Link, { to: "/dags/replay" }, "Replay...")));
  }

  function JobButtons({ card, mayOperate, onDone, children }) {
    const [busy, setBusy] = React.useState(false);
    const [problem, setProblem] = React.useState(null);
    if (!mayOperate) return null;
    const act = async (name) => {
      if (SURE[name] && !globalThis.confirm(`${name} ${card.name}? ${SURE[name]}`)) return;
      setBusy(true);
      setProblem(null);
      await ACTIONS[name](card.dag_id).then(onDone, (error) => setProblem(error.message));
      setBusy(false);
    };
    const one = (name) =>
      h(Button, { key: name, size: "xs", variant: "outline", loading: busy, onClick: () => act(name) }, name);
    return h(Box, null,
      h(HStack, { gap: 1 }, ...Object.keys(ACTIONS).map(one), children),
      problem && h(Text, { color: "red.500", fontSize: "xs" }, problem));
  }

  function Columns({ names }) {
    return h(Table.Header, null, h(Table.Row, null,
      ...names.map((name) => h(Table.ColumnHeader, { key: name }, name))));
  }

  function Cells({ values }) {
    return h(Table.Row, null, ...values.map((value, i) => h(Table.Cell, { key: i }, value)));
  }

  function Problem({ error }) {
    return error ? h(Text, { color: "red.500", mb: 2, role: "alert" }, `No answer: ${error.message}`) : null;
  }

  // --- all pipelines --------------------------------------------------------------------------

  function Overview() {
    const { data, error, look } = usePolled("/fleet/api/pipelines");
    const cards = data ? data.pipelines : [];
    const bad = cards.filter((card) => COLOURS[card.state] !== "green").length;
    const may = new Set(data ? data.may_operate : []);
    const names = ["Pipeline", "State", "Sites", "Rows/s", "Last hour", "Waiting", "Behind",
      "Quarantine", "Quality", "Maintained", "Look at", ""];
    return h(Box, { p: 4 },
      h(Flex, { justify: "space-between", mb: 3 }, h(Heading, { size: "md" }, "Fleet"),
        data && h(Text, { color: "fg.muted" }, summary(cards.length, bad))),
      h(Problem, { error }),
      data && !cards.length && h(Text, null, "There is no pipeline yet: a file in dags/pipelines makes one."),
      cards.length > 0 && h(Table.Root, { size: "sm", striped: true }, h(Columns, { names }),
        h(Table.Body, null, ...cards.map((card) => h(Cells, { key: card.name, values: [
          h(Link, { to: `?pipeline=${card.name}`, style: { fontWeight: 600 } }, card.name),
          h(State, { card }),
          describeSites(card),
          number(card.rows_per_s),
          h(Sparkline, { samples: card.history }),
          number(card.lag_records),
          span(card.behind_s),
          percent(card.refused),
          h(Verdict, { card }),
          ago(card.maintained_at),
          h(Link, { to: `/dags/${card.dag_id}/runs` }, "runs"),
          h(Buttons, { card, mayOperate: may.has(card.name), onDone: look }),
        ] })))),
      h(Jobs), h(Relays), h(Incidents));
  }

  // --- jobs of other kinds --------------------------------------------------------------------

  const figures = (card) => Object.entries(card.figures).map(([what, value]) => `${what}: ${value}`).join(", ") || "-";

  function Jobs() {
    const { data, error, look } = usePolled("/fleet/api/jobs");
    const may = new Set(data ? data.may_operate : []);
    const rows = (data ? data.jobs : []).map((card) => [h(Link, { to: `?job=${card.name}` }, card.name), card.kind,
      h(State, { card }), number(card.lag_records), span(card.behind_s), ago(card.worked_at), figures(card),
      h(JobButtons, { card, mayOperate: may.has(card.name), onDone: look })]);
    return h(Box, null, rows.length > 0 && h(Section, { title: "Other jobs",
      names: ["Job", "Kind", "State", "Waiting", "Behind", "Last work", "Says", ""], rows }),
    h(Problem, { error }));
  }

  function Job({ name }) {
    const path = `/fleet/api/jobs/${encodeURIComponent(name)}`;
    const { data, error, look } = usePolled(path);
    const back = h(Link, { to: "?" }, "Fleet");
    if (!data) return h(Box, { p: 4 }, back, h(Problem, { error }));
    const { card, events } = data.page;
    return h(Box, { p: 4 },
      h(Flex, { justify: "space-between", mb: 3 },
        h(HStack, null, back, "/", h(Heading, { size: "md" }, card.name), h(State, { card })),
        h(JobButtons, { card, mayOperate: data.may_operate, onDone: look })),
      h(Problem, { error }),
      h(Text, { mb: 3 }, `${card.reason} (since ${age(card.since)})`),
      h(HStack, { gap: 6, wrap: "wrap" },
        h(Figure, { label: "Kind", value: card.kind }),
        h(Figure, { label: "Waiting", value: number(card.lag_records) }),
        h(Figure, { label: "Behind", value: span(card.behind_s) }),
        h(Figure, { label: "Last work", value: ago(card.worked_at) }),
        h(Figure, { label: "Generation", value: number(card.generation) }),
        ...Object.entries(card.figures).map(([label, value]) => h(Figure, { key: label, label, value }))),
      h(Happened, { events }),
      h(LogAndRuns, { log: `${path}/log`, dag: card.dag_id }));
  }

  const RELAY_COLOURS = { running: "green", waiting: "orange" };

  function relayRow([name, relay]) {
    const state = h(Badge, { colorPalette: RELAY_COLOURS[relay.state] || "red" }, relay.state);
    return [name, state, `${relay.sites_up} of ${relay.sites}`, number(relay.messages_per_s), number(relay.lag_records),
      ago(relay.last_commit_at), relay.notes.join("; ") || "-"];
  }

  function Relays() {
    const { data, error } = usePolled("/fleet/api/relays");
    const rows = Object.entries(data || {}).map(relayRow);
    return h(Box, null, rows.length > 0 && h(Section, { title: "Relays",
      names: ["Relay", "State", "Sites", "Messages/s", "Waiting", "Last commit", "What to know"], rows }),
    h(Problem, { error }));
  }

  function incidentRow(one) {
    const page = `/fleet/api/incidents/${one.id}`;
    const run = `/dags/incident/runs/${encodeURIComponent(one.run)}`;
    return [utc(one.at), one.events > 1 ? `${one.kind} (${one.events} times)` : one.kind,
      h(Link, { to: `?${one.is_pipeline ? "pipeline" : "job"}=${one.pipeline}` }, one.pipeline), one.sites.join(", ") || "-", one.text,
      h(HStack, { gap: 2 }, h("a", { href: page, target: "_blank", rel: "noreferrer" }, "page"),
        one.run && h(Link, { to: run }, "run"))];
  }

  function Incidents() {
    const { data, error } = usePolled("/fleet/api/incidents");
    return h(Box, null, data && h(Section, { title: "Newest incidents",
      names: ["When", "Kind", "Pipeline", "Site", "What", "Look at"], rows: data.map(incidentRow) }),
    h(Problem, { error }));
  }

  // --- one pipeline ---------------------------------------------------------------------------

  function Figure({ label, value }) {
    return h(Stat.Root, { minW: "8rem" }, h(Stat.Label, null, label), h(Stat.ValueText, { fontSize: "lg" }, value));
  }

  function Section({ title, names, rows }) {
    return h(Box, { mt: 5 }, h(Heading, { size: "sm", mb: 1 }, title),
      rows.length
        ? h(Table.Root, { size: "sm" }, h(Columns, { names }),
          h(Table.Body, null, ...rows.map((values, i) => h(Cells, { key: i, values }))))
        : h(Text, { color: "fg.muted" }, "nothing yet"));
  }

  function Happened({ events }) {
    return h(Section, { title: "What happened", names: ["When", "Condition", "Why"],
      rows: events.map((note) => [utc(note.at),
        h(Badge, { colorPalette: COLOURS[note.condition] || "gray" }, note.condition), note.reason]) });
  }

  function LogAndRuns({ log, dag }) {
    return h(Text, { mt: 5 }, h("a", { href: log, target: "_blank", rel: "noreferrer" }, "The end of the job's log"),
      ", ", h(Link, { to: `/dags/${dag}/runs` }, "runs of its DAG"));
  }

  function Refused({ name }) {
    const { data, error } = usePolled(`/fleet/api/pipelines/${encodeURIComponent(name)}/refused`, SLOW_REFRESH_MS);
    return h(Box, null, h(Section, { title: "Newest in quarantine",
      names: ["When", "Site", "Topic", "Partition", "Offset", "Stage", "Why", "Message"],
      rows: (data || []).map((row) => [ago(row.kafka_time), row.site, row.topic, row.partition, number(row.offset),
        row.stage, row.reasons.join("; "), h("code", { style: { wordBreak: "break-all" } }, row.value)]) }),
    h(Problem, { error }));
  }

  function Detail({ name }) {
    const { data, error, look } = usePolled(`/fleet/api/pipelines/${encodeURIComponent(name)}`);
    const back = h(Link, { to: "?" }, "Fleet");
    if (!data) return h(Box, { p: 4 }, back, h(Problem, { error }));
    const { page, may_operate: mayOperate } = data;
    const { card } = page;
    const counts = (found) => Object.entries(found).map(([what, rows]) => [what, number(rows)]);
    return h(Box, { p: 4 },
      h(Flex, { justify: "space-between", mb: 3 },
        h(HStack, null, back, "/", h(Heading, { size: "md" }, card.name), h(State, { card })),
        h(Buttons, { card, mayOperate, onDone: look })),
      h(Problem, { error }),
      h(Text, { mb: 3 }, `${card.reason} (since ${age(card.since)})`),
      h(HStack, { gap: 6, wrap: "wrap" },
        h(Figure, { label: "Rows/s", value: number(card.rows_per_s) }),
        h(Figure, { label: "Last hour", value: h(Sparkline, { samples: card.history }) }),
        h(Figure, { label: "Waiting", value: number(card.lag_records) }),
        h(Figure, { label: "Behind", value: span(card.behind_s) }),
        h(Figure, { label: "Quarantine", value: percent(card.refused) }),
        h(Figure, { label: "Quality", value: h(Verdict, { card }) }),
        h(Figure, { label: "Last batch", value: ago(card.last_batch_at) }),
        h(Figure, { label: "Generation", value: number(card.generation) })),
      h(Text, { color: "fg.muted", fontSize: "xs", mt: 2 }, HELP),
      h(Section, { title: "Partitions", names: ["Site", "Topic", "Partition", "Read up to", "Broker's end", "Waiting",
        "Oldest waiting", "Last message", "Last batch", "Broker"],
        rows: page.parts.map((part) => [h(Link, { to: `?site=${part.site}` }, part.site), part.topic, part.partition, number(part.position),
          number(part.end), number(part.waiting), ago(part.oldest_waiting), ago(part.newest_at),
          ago(part.last_batch_at), connection(part)]) }),
      page.made_anew.length > 0 && h(Section, { title: "Topics that were deleted and made again", names: ["When", "Site", "Topic", "Id"],
        rows: page.made_anew.map((one) => [utc(one.at), one.site, one.topic, h("code", null, one.topic_id)]) }),
      h(Section, { title: "Quarantine, by stage, since the job began", names: ["Stage", "Rows"], rows: counts(page.refused) }),
      h(Section, { title: "Rules broken", names: ["Rule", "Rows"], rows: counts(page.broken) }),
      h(Refused, { name }),
      h(Happened, { events: page.events }),
      h(LogAndRuns, { log: `/fleet/api/pipelines/${card.name}/log`, dag: card.dag_id }),
      h(Section, { title: "Tables", names: ["Layer", "Where"], rows: Object.entries(page.tables) }));
  }

  // --- one site -------------------------------------------------------------------------------

  function Site({ name }) {
    const { data, error } = usePolled(`/fleet/api/sites/${encodeURIComponent(name)}`);
    const back = h(Link, { to: "?" }, "Fleet");
    if (!data) return h(Box, { p: 4 }, back, h(Problem, { error }));
    const colour = { answers: "green", away: "red" }[data.connection] || "gray";
    const days = (time) => Math.floor((Date.parse(time) - Date.now()) / 86400000);
    return h(Box, { p: 4 },
      h(HStack, { mb: 3 }, back, "/", h(Heading, { size: "md" }, data.name),
        h(Badge, { colorPalette: colour }, data.connection)),
      h(Problem, { error }),
      data.description && h(Text, { mb: 3 }, data.description),
      h(HStack, { gap: 6, wrap: "wrap" },
        h(Figure, { label: "Cluster", value: data.bootstrap }),
        h(Figure, { label: "Last seen", value: ago(data.seen_at) }),
        h(Figure, { label: "Users", value: data.users.join(", ") || "-" })),
      h(Section, { title: "Read by", names: ["Pipeline", "Broker", "Last batch", "Waiting", "Behind"],
        rows: data.readers.map((one) => [h(Link, { to: `?pipeline=${one.pipeline}` }, one.pipeline),
          connection(one), ago(one.last_batch_at), number(one.waiting), span(one.behind_s)]) }),
      h(Section, { title: "Certificates", names: ["Of", "Good until", "Days"],
        rows: Object.entries(data.certificates).map(([owner, end]) => [owner, end.slice(0, 10), number(days(end))]) }));
  }

  function Fleet() {
    const [params] = useSearchParams();
    const name = params.get("pipeline"), site = params.get("site"), job = params.get("job");
    if (job) return h(Job, { name: job, key: job });
    if (site) return h(Site, { name: site, key: site });
    return name ? h(Detail, { name, key: name }) : h(Overview);
  }

  globalThis.Fleet = Fleet;
  globalThis.AirflowPlugin = Fleet;
})();
