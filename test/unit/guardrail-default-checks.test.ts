import { expect } from 'chai';
import type {
  Check,
  CheckParameters,
  CheckResult,
  RequestCheck,
  RequestContext,
  TextCheck,
} from '../../plugins/guardrails/check.js';
import { codeFormats, guessFormat } from '../../plugins/guardrails/checks/code/code-language.js';
import { jsonParts } from '../../plugins/guardrails/checks/code/json-parts.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { dataOf } from '../../plugins/guardrails/run/text-check.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { filledParameters } from '../support/check-service.js';

const of = (id: string): Check => checks.get(id)!;
/** With the data that most checks make only where results are shown. */
const shown = (result: CheckResult): CheckResult => ({ ...result, data: dataOf(result) });
const judge = (id: string, text: string, parameters: CheckParameters = {}): CheckResult =>
  shown((of(id) as TextCheck).run({ phase: 'after', texts: [text], text }, filledParameters(id, parameters)));
const verdict = (id: string, text: string, parameters: CheckParameters = {}): boolean =>
  judge(id, text, parameters).verdict;

const request = (own: Partial<RequestContext>): RequestContext => ({
  ...{
    phase: 'before',
    texts: [],
    text: '',
    requestType: 'chatComplete',
    format: 'openai-chat',
    provider: null,
  },
  ...{ model: null, metadata: {}, headers: [], body: null, answer: null },
  ...own,
});
const ask = (id: string, own: Partial<RequestContext>, parameters: CheckParameters): CheckResult =>
  shown((of(id) as RequestCheck).run(request(own), filledParameters(id, parameters)));

describe('checks of texts', () => {
  it('each have an explanation, and turn their verdict where they can', () => {
    for (const check of checks.values()) {
      if (
        check.runs !== 'text' ||
        ['default.contains', 'default.wordCount', 'gateway.language'].includes(check.id)
      )
        continue;
      const properties = guardrailChecks.get(check.id)!.parameters.properties;
      const given = {
        rule: 'a',
        words: ['a'],
        operator: 'any',
        suffix: 'a',
        keys: ['a'],
        schema: {},
        format: 'Python',
      };
      const own = Object.fromEntries(Object.entries(given).filter(([name]) => name in properties));
      const result = judge(check.id, 'a b {"a": 1}', {
        ...own,
        ...('categories' in properties && { categories: [] }),
      });
      expect((result.data as { explanation: string }).explanation, check.id).to.match(/^[A-Z].*\.$/);
      if (!('not' in properties)) continue;
      expect(
        verdict(check.id, 'a b {"a": 1}', {
          ...own,
          not: true,
          ...('categories' in properties && { categories: [] }),
        }),
        check.id,
      ).to.equal(!result.verdict);
    }
  });

  it('match regular expressions, those with look-around included', () => {
    expect(verdict('default.regexMatch', 'order 66', { rule: '\\d+' })).to.equal(true);
    expect(verdict('default.regexMatch', 'order', { rule: '\\d+' })).to.equal(false);
    expect(verdict('default.regexMatch', 'order', { rule: '\\d+', not: true })).to.equal(true);
    expect(verdict('default.regexMatch', 'abc', { rule: '(?<=b)c' })).to.equal(true);
    expect(JSON.stringify(judge('default.regexMatch', 'the secret', { rule: 'secret' }).data)).to.not.include(
      'the secret',
    );
  });

  it('replace every match of a regular expression, in each part', () => {
    const run = (texts: string[], parameters: CheckParameters): CheckResult =>
      (of('default.regexReplace') as TextCheck).run(
        { phase: 'before', texts, text: texts.join('\n') },
        parameters,
      );
    expect(run(['1 a 2', 'b'], { rule: '\\d' }).transformed).to.deep.equal(['[REDACTED] a [REDACTED]', 'b']);
    expect(run(['Jo JO'], { rule: '/jo/i', redactText: '<$&>' }).transformed).to.deep.equal(['<Jo> <JO>']);
    expect(run(['none'], { rule: '\\d' })).to.not.have.property('transformed');
    expect(run(['none'], { rule: '\\d' }).verdict).to.equal(true);
  });

  it('count sentences and characters', () => {
    const sentences = (text: string): unknown =>
      (judge('default.sentenceCount', text).data as Record<string, unknown>)['sentenceCount'];
    for (const [text, count] of [
      ['', 0],
      ['No end', 1],
      ['One. Two! Three?', 3],
      ['It costs 3.14 EUR, see example.org. Really?!', 2],
      ['She said "stop." Then left...', 2],
      ['一。二！三', 3],
      [`${'.'.repeat(200_000)}x`, 1],
    ] as const)
      expect(sentences(text), text.slice(0, 30)).to.equal(count);
    expect(verdict('default.sentenceCount', 'One. Two.', { maxSentences: 1 })).to.equal(false);
    expect(verdict('default.characterCount', 'four', { minCharacters: 4, maxCharacters: 4 })).to.equal(true);
    expect(verdict('default.characterCount', 'three', { maxCharacters: 4 })).to.equal(false);
  });

  it('compare the end, and the case of letters of every script', () => {
    expect(verdict('default.endsWith', 'all done.', { suffix: 'done' })).to.equal(true);
    expect(verdict('default.endsWith', 'done it', { suffix: 'done' })).to.equal(false);
    expect(verdict('default.alluppercase', 'GRÖẞE 12!')).to.equal(true);
    expect(verdict('default.alluppercase', 'GRöSSE')).to.equal(false);
    for (const id of ['default.alllowercase', 'default.isAllLowerCase']) {
      expect(verdict(id, 'größe'), id).to.equal(true);
      expect(verdict(id, 'Größe'), id).to.equal(false);
    }
  });

  it('find out whether there is any text', () => {
    expect(verdict('default.notNull', ' \n')).to.equal(false);
    expect(verdict('default.notNull', 'a')).to.equal(true);
    expect(verdict('default.notNull', '', { not: true })).to.equal(true);
  });

  describe('of JSON', () => {
    it('find it alone, in fences and between words', () => {
      expect(jsonParts(' {"a": {"b": [1]}} ')).to.deep.equal([{ a: { b: [1] } }]);
      expect(jsonParts('Here:\n```json\n{"a": 1}\n```\nand {"b": 2}')).to.deep.equal([{ a: 1 }]);
      expect(jsonParts('so {"a": {"b": "}"}} and [1, 2], {not json}')).to.deep.equal([
        { a: { b: '}' } },
        [1, 2],
      ]);
      expect(jsonParts('an open { and then {"a": 1}')).to.deep.equal([{ a: 1 }]);
      expect(jsonParts('"quoted" 12')).to.deep.equal([]);
    });

    it('take no time that grows with the square of the text', () => {
      for (const piece of ['{', '[', '{"', '{}', '```json\n', '```', '{"a":'])
        expect(jsonParts(piece.repeat(300_000 / piece.length)).length, piece).to.be.at.most(100);
    }).timeout(20_000);

    it('compare it with a schema', () => {
      const schema = { type: 'object', required: ['name'], properties: { age: { type: 'integer' } } };
      expect(verdict('default.jsonSchema', '{"name": "Jo", "age": 7}', { schema })).to.equal(true);
      expect(verdict('default.jsonSchema', 'Sure: {"age": 7} or {"name": "Jo"}', { schema })).to.equal(true);
      const wrong = judge('default.jsonSchema', '{"name": "Jo", "age": "7"}', { schema });
      expect(wrong.verdict).to.equal(false);
      expect((wrong.data as { validationErrors: unknown }).validationErrors).to.deep.equal([
        { path: '.age', message: 'must be integer' },
      ]);
      expect(verdict('default.jsonSchema', '{"age": 7}', { schema, not: true })).to.equal(true);
      expect(verdict('default.jsonSchema', 'no JSON', { schema, not: true })).to.equal(false);
    });

    it('look for its keys', () => {
      const text = '{"a": 1, "b": {"c": 2}}';
      const verdicts = (keys: string[]): boolean[] =>
        ['any', 'all', 'none'].map((operator) => verdict('default.jsonKeys', text, { keys, operator }));
      expect(verdicts(['a', 'z'])).to.deep.equal([true, false, false]);
      expect(verdicts(['a', 'b'])).to.deep.equal([true, true, false]);
      expect(verdicts(['c', 'toString'])).to.deep.equal([false, false, true]);
      expect(verdict('default.jsonKeys', 'x {"z": 1} {"a": 1}', { keys: ['a'], operator: 'none' })).to.equal(
        false,
      );
      expect(verdict('default.jsonKeys', 'no JSON', { keys: ['a'], operator: 'none' })).to.equal(false);
    });
  });

  it('name the code in fences, and guess what has no name', () => {
    expect(codeFormats('```py\nx = 1\n```\n~~~rust\nfn a() {}\n~~~\n```mermaid\na\n```')).to.deep.equal([
      'Python',
      'Rust',
      'mermaid',
    ]);
    expect(codeFormats('```\nSELECT a FROM b\nWHERE c = 1\n```')).to.deep.equal(['SQL']);
    expect(codeFormats('no code')).to.deep.equal([]);
    for (const [format, code] of [
      ['Python', 'import os\n\ndef main(a):\n    print(a)\n\nif __name__ == "__main__":\n    main(1)'],
      ['JavaScript', "const a = require('a');\nconsole.log(a);\nlet b = a.map((x) => {\n  return x;\n});"],
      ['TypeScript', 'interface A {\n  b: string;\n}\nconst c: string = "";\nexport type D = { a: number };'],
      ['Go', 'package main\n\nfunc main() {\n\tx := 1\n\tfmt.Println(x)\n}'],
      ['Rust', 'use std::io;\nfn main() {\n    let mut a = 1;\n    println!("{}", a);\n}'],
      [
        'Java',
        'public class A {\n  public static void main(String[] a) {\n    System.out.println(1);\n  }\n}',
      ],
      ['C', '#include <stdio.h>\nint main(void) {\n  printf("a");\n  return 0;\n}'],
      ['Ruby', 'def a(b)\n  puts b\nend\n[1].each do |x|\n  a x\nend'],
      ['PHP', '<?php\n$a = 1;\necho $a;'],
      ['Shell', '#!/bin/bash\nif [ -f a ]; then\n  echo $A\nfi'],
      ['JSON', '{"a": [1, 2]}'],
      ['HTML', '<!DOCTYPE html>\n<html>\n<body>\n<p>a</p>\n</body>\n</html>'],
      ['CSS', '.a {\n  color: red;\n  margin: 0;\n}'],
      ['Dockerfile', 'FROM node:20\nWORKDIR /app\nCOPY . .\nCMD ["node"]'],
    ] as const)
      expect(guessFormat(code), code).to.equal(format);
    expect(guessFormat('just some words\nand more of them')).to.equal(null);
    expect(verdict('default.containsCode', '```python\na\n```', { format: 'Python' })).to.equal(true);
    expect(verdict('default.containsCode', 'none', { format: 'Python', not: true })).to.equal(true);
    const late = (line: string) =>
      verdict('default.containsCode', `${line}\na\n\`\`\``, { format: 'Python' });
    expect(late('Like this: ```python')).to.equal(true);
    expect(late('Write ```python``` here, or end with ```python```')).to.equal(false);
    codeFormats('```\n'.repeat(50_000));
  });
});

describe('checks of requests', () => {
  it('compare the model with a list, as it was written and without its provider', () => {
    for (const id of ['default.modelWhitelist', 'default.modelwhitelist']) {
      const own = { body: { model: '@openai/gpt-4o' }, model: 'gpt-4o' };
      expect(ask(id, own, { models: ['gpt-4o'] }).verdict, id).to.equal(true);
      expect(ask(id, own, { models: ['@openai/gpt-4o'] }).verdict, id).to.equal(true);
      expect(ask(id, own, { models: ['gpt-4'] }).verdict, id).to.equal(false);
      expect(ask(id, own, { models: ['gpt-4o'], not: true }).verdict, id).to.equal(false);
      expect(ask(id, { body: {} }, { models: ['gpt-4o'] }).error?.name, id).to.equal('NoModel');
    }
  });

  it('allow models by metadata', () => {
    const rules = { defaults: ['small'], metadata: { team: { red: ['large', 'small'], blue: ['medium'] } } };
    const verdictOf = (model: string, metadata: Record<string, string>): boolean =>
      ask('default.modelRules', { model, body: { model }, metadata }, { rules }).verdict;
    expect(verdictOf('large', { team: 'red' })).to.equal(true);
    expect(verdictOf('small', { team: 'blue' })).to.equal(false);
    expect(verdictOf('small', {})).to.equal(true);
    expect(verdictOf('large', { team: 'constructor' })).to.equal(false);
    expect(ask('default.modelRules', { model: 'a' }, { rules: {} }).error?.name).to.equal('NoRule');
    const { defaults: _, ...strict } = rules;
    for (const metadata of [{}, { team: 'green' }] as Record<string, string>[]) {
      const own = { model: 'small', body: { model: 'small' }, metadata };
      expect(ask('default.modelRules', own, { rules: strict })).to.deep.include({ verdict: false });
      expect(ask('default.modelRules', own, { rules: strict }).error).to.equal(undefined);
    }
  });

  it('allow kinds of requests, by parameters or metadata', () => {
    const verdictOf = (parameters: CheckParameters, metadata: Record<string, string> = {}): boolean =>
      ask('default.allowedRequestTypes', { metadata }, parameters).verdict;
    expect(verdictOf({})).to.equal(true);
    expect(verdictOf({ allowedTypes: ['embed'] })).to.equal(false);
    expect(verdictOf({ allowedTypes: ['chatComplete'] })).to.equal(true);
    expect(verdictOf({ blockedTypes: ['chatComplete'] })).to.equal(false);
    expect(verdictOf({}, { supported_endpoints: 'embed, rerank' })).to.equal(false);
    expect(verdictOf({}, { blocked_endpoints: 'chatComplete' })).to.equal(false);
    // The metadata is the client's: with an error this would count as passed.
    for (const [parameters, metadata] of [
      [{ allowedTypes: ['chatComplete'], blockedTypes: ['chatComplete'] }, {}],
      [{ blockedTypes: ['chatComplete'] }, { supported_endpoints: 'chatComplete' }],
    ] as const) {
      const { verdict, error } = ask('default.allowedRequestTypes', { metadata }, parameters);
      expect([verdict, error]).to.deep.equal([false, undefined]);
    }
  });

  it('ask for keys and pairs of metadata', () => {
    const metadata = { team: 'red', env: 'prod' };
    const keys = (metadataKeys: string[]): boolean[] =>
      ['all', 'any', 'none'].map(
        (operator) => ask('default.requiredMetadataKeys', { metadata }, { metadataKeys, operator }).verdict,
      );
    expect(keys(['team', 'env'])).to.deep.equal([true, true, false]);
    expect(keys(['team', 'user'])).to.deep.equal([false, true, false]);
    expect(keys(['toString'])).to.deep.equal([false, false, true]);
    const pairs = (metadataPairs: Record<string, string>): boolean[] =>
      ['all', 'any', 'none'].map(
        (operator) =>
          ask('default.requiredMetadataKeyPairs', { metadata }, { metadataPairs, operator }).verdict,
      );
    expect(pairs({ team: 'red' })).to.deep.equal([true, true, false]);
    expect(pairs({ team: 'blue', env: 'prod' })).to.deep.equal([false, true, false]);
    expect(pairs({ team: 'blue' })).to.deep.equal([false, false, true]);
  });

  it('refuse tools and parameters, in the formats of all clients', () => {
    const refused = (body: Record<string, unknown>, parameters: CheckParameters): unknown =>
      (ask('default.requestParams', { body }, parameters).data as { violations: unknown }).violations;
    const openai = {
      tools: [{ type: 'function', function: { name: 'rm' } }, { type: 'web_search' }],
      temperature: 2,
    };
    expect(refused(openai, { tools: { blockedFunctionNames: ['rm'] } })).to.deep.equal([
      'The function rm is blocked.',
    ]);
    expect(refused(openai, { tools: { allowedTypes: ['function'] } })).to.deep.equal([
      'The tool type web_search is not among the allowed ones.',
    ]);
    expect(
      refused({ tools: [{ name: 'rm', input_schema: {} }] }, { tools: { blockedFunctionNames: ['rm'] } }),
    ).to.have.length(1);
    const gemini = { tools: [{ functionDeclarations: [{ name: 'rm' }] }, { googleSearch: {} }] };
    expect(
      refused(gemini, { tools: { allowedTypes: ['function'], allowedFunctionNames: ['ls'] } }),
    ).to.deep.equal([
      'The function rm is not among the allowed ones.',
      'The tool type googleSearch is not among the allowed ones.',
    ]);
    const rm = { tools: { blockedFunctionNames: ['rm'] } };
    expect(refused({ functions: [{ name: 'rm' }] }, rm)).to.have.length(1);
    expect(refused({ tools: [{ type: 'custom', custom: { name: 'rm' } }] }, rm)).to.have.length(1);
    const mixed = { tools: [{ functionDeclarations: [{ name: 'ls' }], googleSearch: {} }] };
    expect(refused(mixed, { tools: { blockedTypes: ['googleSearch'] } })).to.have.length(1);
    // Names and types in places that another provider reads.
    const declarations = { functionDeclarations: [], function_declarations: [{ name: 'rm' }] };
    for (const tool of [
      { type: 'function', function: { name: 'rm' }, functionDeclarations: [] },
      { type: 'custom', function: { name: 'ls' }, custom: { name: 'rm' } },
      { type: 'function', name: 'rm', function: { name: 'ls' } },
      declarations,
    ])
      expect(refused({ tools: [tool] }, rm), JSON.stringify(tool)).to.deep.equal([
        'The function rm is blocked.',
      ]);
    const several = { tools: [{ googleSearch: {}, codeExecution: {} }] };
    expect(refused(several, { tools: { blockedTypes: ['codeExecution'] } })).to.have.length(1);
    const many = Array.from({ length: 1000 }, () => ({ type: 'function', function: { name: 'ls' } }));
    expect(refused({ tools: many }, rm)).to.deep.equal([]);
    for (const tools of [
      [...many, openai.tools[0]],
      [{ functionDeclarations: [...many, { name: 'rm' }] }],
      [...Array(1000).fill(null), { name: 'rm' }],
    ])
      expect(refused({ tools }, rm)).to.include('The request has more than 1000 tools.');
    expect(refused(openai, { params: { blockedKeys: ['temperature'] } })).to.have.length(1);
    expect(refused(openai, { params: { allowedKeys: ['tools', 'temperature'] } })).to.deep.equal([]);
    expect(
      refused(openai, { params: { values: { temperature: { allowedValues: [0, 1] } } } }),
    ).to.have.length(1);
    expect(refused(openai, { params: { values: { seed: { allowedValues: [0] } } } })).to.deep.equal([]);
  });

  it('put a prefix before the first message of a role, in each format', () => {
    const add = (own: Partial<RequestContext>, parameters: CheckParameters = {}): unknown =>
      ask('default.addPrefix', own, { prefix: 'P: ', ...parameters }).body;
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'user', content: 'there' },
    ];
    expect(add({ body: { messages } })).to.deep.equal({
      messages: [messages[0], { role: 'user', content: 'P: Hi' }, messages[2]],
    });
    expect(add({ body: { messages } }, { applyToRole: 'system', addToExisting: false })).to.deep.equal({
      messages: [{ role: 'system', content: 'P: ' }, ...messages],
    });
    expect(add({ body: { messages } }, { applyToRole: 'assistant' })).to.deep.equal({
      messages: [...messages, { role: 'assistant', content: 'P: ' }],
    });
    expect(add({ body: { messages } }, { onlyIfEmpty: true })).to.equal(undefined);
    const parts = [{ role: 'user', content: [{ type: 'image_url' }, { type: 'text', text: 'Hi' }] }];
    expect(add({ body: { messages: parts } })).to.deep.equal({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'P: ' }, ...parts[0]!.content] }],
    });
    expect(add({ format: 'openai-completions', body: { prompt: ['a', 'b'] } })).to.deep.equal({
      prompt: ['P: a', 'b'],
    });
    expect(add({ format: 'openai-completions', body: { prompt: [1, 2] } })).to.equal(undefined);
    expect(
      add({ format: 'anthropic-messages', body: { messages: [], system: 's' } }, { applyToRole: 'system' }),
    ).to.deep.equal({
      messages: [],
      system: 'P: s',
    });
    expect(add({ format: 'openai-responses', body: { input: 'Hi' } })).to.deep.equal({ input: 'P: Hi' });
    expect(
      add({ format: 'openai-responses', body: { input: 'Hi' } }, { applyToRole: 'system' }),
    ).to.deep.equal({
      input: 'Hi',
      instructions: 'P: ',
    });
    expect(
      add({ format: 'gemini-generate-content', body: { contents: [{ parts: [{ text: 'Hi' }] }] } }),
    ).to.deep.equal({
      contents: [{ parts: [{ text: 'P: Hi' }] }],
    });
    expect(
      add({ format: 'gemini-generate-content', body: { contents: [] } }, { applyToRole: 'system' }),
    ).to.deep.equal({
      contents: [],
      systemInstruction: { parts: [{ text: 'P: ' }] },
    });
    expect(add({ format: 'openai-embeddings', body: { input: 'Hi' } })).to.equal(undefined);
    expect(messages[1]!.content).to.equal('Hi');
  });
});
