import { expect } from 'chai';
import fc from 'fast-check';
import { parseAmount, printAmount } from '../../src/common/reconciliation/amounts.js';
import { alarmOf, type CompareOptions, compare } from '../../src/common/reconciliation/compare.js';
import { ExportReader } from '../../src/common/reconciliation/export-reader.js';
import { genericHeader, genericLine, UsageGroups } from '../../src/common/reconciliation/usage-groups.js';
import type { ExportKind, UsageLine } from '../../src/common/reconciliation/usage-line.js';

function read(kind: ExportKind, text: string, pieces: readonly number[] = []): UsageLine[] {
  const reader = new ExportReader(kind);
  const lines: UsageLine[] = [];
  let from = 0;
  for (const at of [...pieces].sort((a, b) => a - b)) {
    lines.push(...reader.read(text.slice(from, at)));
    from = Math.max(from, at);
  }
  lines.push(...reader.read(text.slice(from)), ...reader.end());
  return lines;
}
const dollars = (text: string) => parseAmount(text)!;

const openaiUsage = `start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,batch,service_tier,input_tokens,output_tokens,input_cached_tokens,input_uncached_tokens
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,proj_1,3,,key_1,gpt-4o-2024-08-06,False,default,1200,340,200,1000
1759708800,1759795200,2025-10-06T00:00:00+00:00,2025-10-07T00:00:00+00:00,,,,,,,,,,,
`;
const openaiCosts = `start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id,organization_id,organization_name
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,0.8958740000000000,usd,"gpt-4o-2024-08-06, input",proj_1,org-1,Personal
1759968000,1760054400,2025-10-09T00:00:00+00:00,2025-10-10T00:00:00+00:00,,,,,,
`;
const anthropicUsage = `usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,web_search_count,inference_geo,speed
2026-08-05,claude-opus-5,Our App,Default,standard,≤ 200k,46981,15969,1,2,16932,0,global,
`;
const anthropicCosts = `usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type,inference_geo,speed,api_key_id,api_key_status
2026-08-04,Claude Haiku 4.5,Default,demo-key,message,≤ 200k,input_no_cache,0.05,0.05,token,not_available,,apikey_01AAA,archived
`;
const ofOpenai = {
  day: '2025-10-05',
  key: 'key_1',
  model: 'gpt-4o-2024-08-06',
  input: 1200,
  output: 340,
  cost: null,
};

describe('exports of usage', () => {
  it('are read as OpenAI writes them: usage and costs, as CSV and as answers of its API', () => {
    expect(read('openai', openaiUsage)).to.deep.equal([ofOpenai]);
    const cost = {
      day: '2025-10-05',
      key: 'proj_1',
      model: 'gpt-4o-2024-08-06',
      input: null,
      output: null,
      cost: dollars('0.895874'),
    };
    expect(read('openai', openaiCosts)).to.deep.equal([cost]);
    const result = {
      object: 'organization.usage.completions.result',
      input_tokens: 1200,
      output_tokens: 340,
      input_cached_tokens: 200,
      num_model_requests: 3,
      project_id: 'proj_1',
      user_id: null,
      api_key_id: 'key_1',
      model: 'gpt-4o-2024-08-06',
      batch: null,
    };
    const bucket = { object: 'bucket', start_time: 1759622400, end_time: 1759708800, results: [result] };
    const page = { object: 'page', data: [bucket], has_more: false, next_page: null };
    for (const text of [JSON.stringify(page), JSON.stringify(page, null, 2), `${JSON.stringify(bucket)}\n`])
      expect(read('openai', text)).to.deep.equal([ofOpenai]);
    const costs = {
      object: 'organization.costs.result',
      amount: { value: 0.895874, currency: 'usd' },
      line_item: 'gpt-4o-2024-08-06, input',
      project_id: 'proj_1',
    };
    expect(read('openai', JSON.stringify({ ...bucket, results: [costs] }))).to.deep.equal([cost]);
  });

  it('are read as Anthropic writes them: usage and costs, as CSV and as answers of its API', () => {
    const input = 46981 + 15969 + 1 + 2;
    const usage = { day: '2026-08-05', model: 'claude-opus-5', input, output: 16932, cost: null };
    expect(read('anthropic', anthropicUsage)).to.deep.equal([{ ...usage, key: 'Our App' }]);
    expect(read('anthropic', anthropicCosts)).to.deep.equal([
      {
        day: '2026-08-04',
        key: 'demo-key',
        model: 'claude-haiku-4-5',
        input: null,
        output: null,
        cost: dollars('0.05'),
      },
    ]);
    const result = {
      uncached_input_tokens: 46981,
      cache_creation: { ephemeral_1h_input_tokens: 1, ephemeral_5m_input_tokens: 15969 },
      cache_read_input_tokens: 2,
      output_tokens: 16932,
      server_tool_use: { web_search_requests: 0 },
      api_key_id: 'apikey_1',
      workspace_id: 'wrkspc_1',
      model: 'claude-opus-5',
      service_tier: 'standard',
      context_window: '0-200k',
    };
    const bucket = {
      starting_at: '2026-08-05T00:00:00Z',
      ending_at: '2026-08-06T00:00:00Z',
      results: [result],
    };
    expect(read('anthropic', JSON.stringify({ data: [bucket], has_more: false }))).to.deep.equal([
      { ...usage, key: 'apikey_1' },
    ]);
    const amount = { amount: '123.45', currency: 'USD', cost_type: 'tokens', description: 'x', model: null };
    const [costs] = read('anthropic', JSON.stringify({ ...bucket, results: [amount] }));
    expect(costs?.cost, 'in cents').to.equal(dollars('1.2345'));
  });

  it('are the same wherever the pieces of a file end', () => {
    const odd = `${genericHeader}\r\n2026-10-07,"a ""b"", c\nd",k,1,2,0.1\r\n2026-10-07,,,3,,\n2026-10-08,m,k,,,1e-7`;
    const json = [
      { date: '2026-10-07', model: 'm', key: 'é', input_tokens: 1, output_tokens: 2, cost_usd: 0.5 },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n');
    expect(read('generic', odd).map(({ model }) => model)).to.deep.equal(['a "b", c\nd', null, 'm']);
    fc.assert(
      fc.property(fc.array(fc.nat(130), { maxLength: 8 }), (pieces) => {
        expect(read('generic', odd, pieces)).to.deep.equal(read('generic', odd));
        expect(read('generic', `${json}\n${json}`, pieces)).to.deep.equal(
          read('generic', `${json}\n${json}`),
        );
      }),
    );
  });

  it('have the same days wherever they are read', () => {
    const zone = process.env['TZ'];
    try {
      for (const here of ['Asia/Tokyo', 'America/New_York']) {
        process.env['TZ'] = here;
        const times = ['2026-10-07 00:00:00', '2026-10-07T23:59:59', '2026-10-07 12:00:00 UTC'];
        for (const text of [...times, '2026-10-07', '2026-10-08T01:00+02:00'])
          expect(read('generic', `${genericHeader}\n${text},m,k,1,1,0`)[0]?.day, text).to.equal('2026-10-07');
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('may begin with a byte order mark, and have rows without any value, as spreadsheets write them', () => {
    const row = {
      date: '2026-10-07',
      model: 'm',
      key: 'k',
      input_tokens: 1,
      output_tokens: 2,
      cost_usd: 0.5,
    };
    const list = `[\r\n${JSON.stringify(row)}\r\n]`;
    const table = `${genericHeader}\r\n2026-10-07,m,k,1,2,0.5\r\n,,,,,\r\n`;
    for (const text of [JSON.stringify(row), `${JSON.stringify(row)}\n`, list, table])
      for (const pieces of [[], [1], [1, 2]])
        expect(read('generic', `\uFEFF${text}`, pieces), text).to.deep.equal(
          read('generic', JSON.stringify(row)),
        );
  });

  it('have tokens as whole numbers with all their digits', () => {
    const inputOf = (value: unknown) => () =>
      read(
        'generic',
        JSON.stringify({
          date: '2026-10-07',
          model: 'm',
          key: 'k',
          input_tokens: value,
          output_tokens: 2,
          cost_usd: 1,
        }),
      )[0]?.input;
    expect([120, '120', ' 120 ', '120.0'].map((value) => inputOf(value)())).to.deep.equal([
      120, 120, 120, 120,
    ]);
    for (const bad of ['1.2E+06', '0x10', '1,200', true, [5], 1.5])
      expect(inputOf(bad), String(bad)).to.throw('line 1 input_tokens is no number of tokens');
  });

  it('that cannot be read are refused with the line and the reason', () => {
    const costly = (value: unknown) =>
      JSON.stringify({
        date: '2026-10-07',
        model: 'm',
        key: 'k',
        input_tokens: 1,
        output_tokens: 2,
        cost_usd: value,
      });
    for (const bad of [true, [], {}])
      expect(() => read('generic', costly(bad))).to.throw('line 1 cost_usd is no amount');
    const line = (text: string) => () => read('generic', `${genericHeader}\n2026-10-07,m,k,1,1,0\n${text}`);
    for (const bad of ['2026-13-07', '2026-02-30', '2026-02-30T00:00:00Z', '7', 'key 1', '10/07/2026'])
      expect(line(`${bad},m,k,1,1,0`), bad).to.throw(`line 3 has no day but "${bad}"`);
    expect(line('2026-10-07,m,k,-1,1,0')).to.throw('line 3 input_tokens is no number of tokens: "-1"');
    expect(line('2026-10-07,m,k,1,1,dear')).to.throw('line 3 cost_usd is no amount: "dear"');
    expect(line(',m,k,1,1,0')).to.throw('line 3 has no date');
    expect(line('2026-10-07,m,k,1')).to.throw('line 3 has 4 values for 6 columns');
    expect(line('2026-10-07,a,b,k,1,1,0')).to.throw('line 3 has 7 values for 6 columns');
    expect(line('2026-10-07,m,k,1,1,0,')).to.not.throw();
    expect(line('2026-10-07,"m,k,1,1,0\n')).to.throw('line 3 has a quote that is not closed');
    expect(line('2026-10-07,"m\n\n",k,1,1,0\n\n2026-10-07,m,k,x,1,0')).to.throw('line 7 input_tokens');
    expect(() => read('generic', openaiUsage)).to.throw('it looks like one of openai');
    expect(() => read('openai', `${openaiCosts.split('\n')[0]}\n1,2,,,1,eur,x,p,o,n`)).to.throw('in "eur"');
    expect(() => read('openai', '{"a":1}')).to.throw('line 1 is no export of openai');
    const results = [
      { num_model_requests: 1, input_tokens: 1 },
      { num_model_requests: 1, input_tokens: 'x' },
    ];
    const page = (starts: unknown) => JSON.stringify({ data: [{ start_time: starts, results }] }, null, 1);
    expect(() => read('openai', page(1759622400))).to.throw(
      'line 1 at data[0].results[1] input_tokens is no number of tokens: "x"',
    );
    expect(() => read('openai', page('soon'))).to.throw('line 1 at data[0] has no day but "soon"');
    expect(() => read('openai', '{"a":')).to.throw('line 1 is no JSON');
    expect(() => read('generic', '')).to.throw('is empty');
  });

  it('are added up by day, key and model, in memory that does not grow with lines', () => {
    const groups = new UsageGroups();
    const reader = new ExportReader('generic');
    const piece = Array.from(
      { length: 1000 },
      (_, i) => `2026-10-0${1 + (i % 7)},m${i % 3},k,2,1,0.000000000001\n`,
    ).join('');
    for (const line of reader.read(`${genericHeader}\n`)) groups.add(line);
    for (let i = 0; i < 50; i++) for (const line of reader.read(piece)) groups.add(line);
    expect([reader.lines, groups.size]).to.deep.equal([50_001, 21]);
    const sum = groups
      .sorted()
      .reduce((all, { input, cost }) => [all[0]! + input!, all[1]! + Number(cost)], [0, 0]);
    expect(sum).to.deep.equal([100_000, 50_000 * 1e6]);
    const again = read('generic', [genericHeader, ...groups.sorted().map(genericLine)].join('\n'));
    expect(again).to.deep.equal(groups.sorted());
  });

  it('have amounts that are kept to the last digit', () => {
    for (const [text, printed] of [
      ['0.8958740000000000', '0.895874'],
      ['1e-7', '0.0000001'],
      ['-$12.5', '-12.5'],
      ['9007199254740993.000000000001', '9007199254740993.000000000001'],
      ['0.0000000000000000015', '0.000000000000000002'],
    ] as const)
      expect(printAmount(parseAmount(text)!), text).to.equal(printed);
    for (const bad of ['', '1,5', '0x1', '1e999', 'NaN']) expect(parseAmount(bad), bad).to.equal(null);
  });
});

describe('a comparison of an export with the ledger', () => {
  const options: CompareOptions = {
    keyMap: new Map([['key_1', 'main']]),
    modelMap: new Map(),
    ignoreKeys: false,
    keys: [],
    shorter: (model) => model.replace(/-\d{4}-\d\d-\d\d$/, ''),
    tolerance: 0n,
    columns: null,
  };
  const day = '2026-10-07';
  const there = (key: string | null, model: string, input: number) => ({
    day,
    key,
    model,
    input,
    output: 0,
    cost: null,
  });
  const here = (slug: string, model: string, input: number) => ({
    day,
    provider: 'openai',
    slug,
    integration: 'lent',
    model,
    calls: 1,
    input,
    output: 0,
    cost: 5n,
    unpriced: 0,
    lost: 0,
  });

  it('takes a key for the stored provider that it names, else for the integration', () => {
    const ours = [here('main', 'm', 1), here('other', 'm', 2), here('third', 'm', 3)];
    const same = [there('key_1', 'm', 1), there('lent', 'm', 5)];
    expect(compare(same, ours, options).differences).to.deep.equal([]);
    const { differences } = compare([there('key_9', 'm', 6)], ours, options);
    expect(differences.map(({ key, kind }) => [key, kind])).to.deep.equal([
      ['key_9', 'missing_here'],
      ['lent', 'missing_there'],
    ]);
    expect(
      compare([there('key_9', 'm', 6)], ours, { ...options, ignoreKeys: true }).differences,
    ).to.deep.equal([]);
    expect(compare([there(null, 'm', 6)], ours, options).differences).to.deep.equal([]);
  });

  it('puts a model with a date beside the one without only where the other side has no such name', () => {
    const dated = 'gpt-4o-2024-08-06';
    expect(compare([there(null, 'gpt-4o', 3)], [here('s', dated, 3)], options).differences).to.deep.equal([]);
    const both = compare(
      [there(null, 'gpt-4o', 3), there(null, dated, 4)],
      [here('s', 'gpt-4o', 4), here('s', dated, 3)],
      options,
    );
    expect(both.differences).to.have.length(2);
  });

  it('is an alarm beyond a threshold, counting no difference against another', () => {
    const compared = compare(
      [there(null, 'a', 110), there(null, 'b', 90)],
      [here('s', 'a', 100), here('s', 'b', 100)],
      options,
    );
    expect(compared).to.include({ tokenDifference: 20 });
    const alarm = (percent: string | null, usd: string | null) =>
      alarmOf(compared, {
        percent: percent && parseAmount(percent),
        dollars: usd && parseAmount(usd),
      } as never);
    expect(alarm(null, null)).to.equal('There are differences.');
    expect(alarm('10', null)).to.equal(null);
    expect(alarm('9.99', null)).to.equal('Tokens differ by 20 of 200, more than 9.99 percent.');
    expect(alarm(null, '0.01')).to.equal(null);
  });
});
