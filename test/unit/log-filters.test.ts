import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import {
  filteredWorkspace,
  readLogFilters,
  readOnlyLogFilters,
} from '../../src/control-plane/administration/usage/log-filters.js';

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof AdminError && error.code === 'AB01') return error.message;
    throw error;
  }
  return 'accepted';
};

describe('filters of requests', () => {
  it('match every request where none is given', () => {
    expect(readLogFilters({})).to.deep.equal(allLogs);
    expect(readLogFilters({ status_code: '', metadata: '', trace_id: null })).to.deep.equal(allLogs);
  });

  it('have bounds, money in cents and times with any offset', () => {
    const filters = readLogFilters({
      time_of_generation_min: '2026-05-01T02:00:00+02:00',
      time_of_generation_max: '2026-05-01T02:00:00.500 02:00',
      cost_min: 0.0000162,
      cost_max: 1,
      total_units_max: 20,
      weighted_feedback_min: -2.5,
    });
    expect(filters.at).to.deep.equal({
      min: Date.UTC(2026, 4, 1),
      max: Date.UTC(2026, 4, 1) + 500,
    });
    expect(filters.cost).to.deep.equal({ min: 162_000, max: 10_000_000_000 });
    expect(filters.totalTokens).to.deep.equal({ max: 20 });
    expect(filters.weightedFeedback).to.deep.equal({ min: -2.5 });
  });

  it('have lists as texts with commas', () => {
    const filters = readLogFilters({
      status_code: '200, 429,200',
      ai_org_model: 'openai__gpt-4o,anthropic__claude__x',
      virtual_keys: 'a,b',
      cache_status: 'hit,SEMANTIC HIT',
    });
    expect(filters.statuses).to.deep.equal([200, 429]);
    expect(filters.providerModels).to.deep.equal([
      { provider: 'openai', model: 'gpt-4o' },
      { provider: 'anthropic', model: 'claude__x' },
    ]);
    expect(filters.providerSlugs).to.deep.equal(['a', 'b']);
    expect(filters.cacheStatuses).to.deep.equal(['HIT', 'SEMANTIC HIT']);
  });

  it('have metadata as an object, or as its JSON text', () => {
    expect(readLogFilters({ metadata: '{"team":"a"}' }).metadata).to.deep.equal({ team: 'a' });
    expect(readLogFilters({ metadata: { team: 'a' } }).metadata).to.deep.equal({ team: 'a' });
  });

  for (const [given, path] of [
    [{ status_code: 'ok' }, 'status_code'],
    [{ status_code: 200 }, 'status_code'],
    [{ cost_min: -1 }, 'cost_min'],
    [{ cost_min: '1' }, 'cost_min'],
    [{ cost_min: 2, cost_max: 1 }, 'cost_min'],
    [{ total_units_min: 1.5 }, 'total_units_min'],
    [{ weighted_feedback_max: 11 }, 'weighted_feedback_max'],
    [{ time_of_generation_min: '2026-02-30T00:00:00Z' }, 'time_of_generation_min'],
    [{ time_of_generation_min: '2026-02-01' }, 'time_of_generation_min'],
    [{ ai_org_model: 'gpt-4o' }, 'ai_org_model'],
    [{ cache_status: 'WARM' }, 'cache_status'],
    [{ metadata: '{' }, 'metadata'],
    [{ metadata: '[]' }, 'metadata'],
    [{ metadata: '{"team":1}' }, 'metadata.team'],
    [{ metadata: '{"team":"\\u0000"}' }, 'metadata'],
    [{ trace_id: 'x'.repeat(1025) }, 'trace_id'],
  ] as const) {
    it(`are refused with their path: ${JSON.stringify(given).slice(0, 60)}`, () => {
      expect(refusal(() => readLogFilters(given, 'filters'))).to.include(`filters.${path}`);
    });
  }

  it('are no others than these, where an object has nothing else', () => {
    expect(refusal(() => readOnlyLogFilters({ model: 'x' }))).to.include('filters."model"');
    expect(readOnlyLogFilters({ ai_model: 'x' }).models).to.deep.equal(['x']);
  });

  it('name one workspace, by id or slug', () => {
    expect(filteredWorkspace({})).to.equal(null);
    expect(filteredWorkspace({ workspace_slug: 'w' })).to.equal('w');
    expect(filteredWorkspace({ workspace_id: 'w', workspace_slug: 'w' })).to.equal('w');
    expect(refusal(() => filteredWorkspace({ workspace_id: 'a', workspace_slug: 'b' }))).to.include(
      'workspace_slug',
    );
  });
});
