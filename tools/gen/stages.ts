import { type Capabilities, capabilityHolders } from '../../src/common/plugin-host/host.js';
import type { StageDeclaration } from '../../src/common/plugin-host/plugin.js';
import { settingsTable } from '../../src/common/settings/settings.js';
import { stageRows } from '../../src/common/settings/settings-stages.js';
import { stages } from '../../src/data-plane/pipeline/plugins/stages.js';

const capabilityDocs: Readonly<Record<keyof Capabilities, string>> = {
  upstream: 'calls to providers: `attempt`, `aside`, `upstreamKey`, `sentOnHeaders`',
  costs: 'prices: `cost`, `expectedCost`',
  tokens: 'token counting: `inputTokens`',
  node: 'this node: `workers`, `weightOf`',
  configs: 'routing configs, compiled',
  keys: 'hashes of gateway keys',
  bodies: 'reading of request bodies',
  settlement: 'writing the journal',
  channel: 'messages to the control process and from it',
};

const table = (head: string, rows: readonly string[]): string => {
  const columns = head.split(' | ').map(() => '---');
  return rows.length === 0 ? '' : `\n| ${head} |\n| ${columns.join(' | ')} |\n${rows.join('\n')}\n`;
};

const entries = <T>(record: Readonly<Record<string, T>> | undefined): [string, T][] =>
  Object.entries(record ?? {});

function section(stage: StageDeclaration): string {
  const { name, needs = [], insertable } = stage;
  const settings = settingsTable.filter(({ key }) => stageRows.get(key)?.stage === name);
  const asked = needs.length === 0 ? 'none' : needs.map((need) => `\`${need}\``).join(', ');
  const place = insertable === false ? ' Custom plugins are not placed next to it.' : '';
  return `## ${name}

Capabilities: ${asked}.${place}
${table(
  'setting | default | meaning',
  settings.map((row) => `| \`${row.env}\` | ${row.default} | ${row.doc} |`),
)}${table(
  'error code | status | blame | next target? | when',
  entries(stage.errors).map(
    ([code, row]) =>
      `| \`${code}\` | ${row.status} | ${row.blame} | ${row.fallback === true ? 'yes' : 'no'} | ${row.doc} |`,
  ),
)}${table(
  'shared state | kind | meaning',
  entries(stage.state).map(
    ([state, { kind, seconds, doc }]) => `| \`${state}\` | ${kind}, ${seconds} s | ${doc} |`,
  ),
)}${table(
  'ledger field | type | meaning',
  entries(stage.ledgerFields).map(([field, { type, doc }]) => `| \`${name}.${field}\` | ${type} | ${doc} |`),
)}${table(
  'reply header | meaning',
  entries(stage.replyHeaders).map(([header, doc]) => `| \`x-gateway-${header}\` | ${doc} |`),
)}${table(
  'metric | meaning',
  entries(stage.metrics).map(([metric, doc]) => `| \`${metric}\` | ${doc} |`),
)}`;
}

/** `docs/stages.md`: what each stage brings, as it declares it. */
export function stagesPage(): string {
  const holders = entries(capabilityDocs).map(
    ([name, doc]) =>
      `| \`${name}\` | ${doc} | ${capabilityHolders[name as keyof Capabilities] === 'plugins' ? 'every plugin' : "the gateway's own stages"} |`,
  );
  return `# Stages

Generated from \`src/data-plane/pipeline/order.ts\` and \`plugins/*/stage.ts\` by \`npm run gen\`.

What each stage of the chain brings, in the order in which they run. [plugins.md](plugins.md) describes how a stage is
written and what each of these is.

| capability | what it gives | who may have it |
| --- | --- | --- |
${holders.join('\n')}

${stages.map(section).join('\n')}`
    .trimEnd()
    .concat('\n');
}
