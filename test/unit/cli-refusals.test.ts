import { expect } from 'chai';
import { adminTree } from '../../proto/tree.js';
import { inFlags } from '../../src/cli/input/request.js';

describe('a refusal of the gateway', () => {
  const method = [...adminTree().methods.values()].find(({ name }) => name === 'Analytics.GraphCost')!;

  it('names the flag in place of each field that it begins a sentence with', () => {
    const refusal = 'time_of_generation_min is required. time_of_generation_max is required.';
    expect(inFlags(method, refusal)).to.equal(
      '--time-of-generation-min is required. --time-of-generation-max is required.',
    );
  });

  it('stays as it is where it names no field', () => {
    const refusal = 'This key lacks the scope analytics.view. Ask an owner.';
    expect(inFlags(method, refusal)).to.equal(refusal);
  });
});
