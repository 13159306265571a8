import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { RequestMetrics } from '../../src/control-plane/telemetry/request-metrics.js';
import { root } from '../support/root.js';

const metricName = /\b(?:gateway|gen_ai)_[a-z_]+\b/g;

/** Names of metrics that the program has: in quotes somewhere in its source. */
function namesInSource(): Set<string> {
  const names = new Set(new RequestMetrics().read().map(({ name }) => name));
  for (const folder of ['src', 'plugins']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      for (const [, name = ''] of readFileSync(join(root, folder, file), 'utf8').matchAll(
        /['\s](gateway_[a-z_]+)\b/g,
      ))
        names.add(name);
    }
  }
  return names;
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert?: string; readonly expr: string }[];
  }[];
}
interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

describe('the files of deploy/', () => {
  const rules = parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')) as Rules;
  const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana/headgate.json'), 'utf8')) as Dashboard;
  const alerts = rules.groups.flatMap((group) => group.rules);

  it('use no metric that does not exist', () => {
    const known = namesInSource();
    const expressions = [
      ...alerts.map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const used = expressions.flatMap((expr) => expr.match(metricName) ?? []);
    expect(used.length).to.be.greaterThan(30);
    // A word in brackets after `by` is a label.
    const labels = new Set(['gen_ai_provider_name', 'gen_ai_operation_name']);
    const unknown = used.filter(
      (name) => !labels.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('have alerts for errors, breakers, lag, drops and budgets, each with what it means', () => {
    const named = alerts.filter(({ alert }) => alert !== undefined) as readonly {
      readonly alert: string;
      readonly annotations?: { readonly summary?: string };
    }[];
    for (const part of ['Burn', 'Breaker', 'Behind', 'Dropped', 'Budget'])
      expect(
        named.some(({ alert }) => alert.includes(part)),
        part,
      ).to.equal(true);
    for (const { alert, annotations } of named)
      expect(annotations?.summary, alert).to.be.a('string').and.match(/\.$/);
  });
});
