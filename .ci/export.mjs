// Opens an exported page in headless Chromium, over a pipe, and checks what only a browser can tell.
// node export.mjs BROWSER PAGE DIRECTORY [SCREENSHOTS]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [browser, page, work, shots] = process.argv.slice(2);
const url = pathToFileURL(page).href;
const options = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
  '--disable-background-networking', '--remote-debugging-pipe', `--user-data-dir=${join(work, 'browser')}`, 'about:blank',
];
const child = spawn(browser, options, {
  stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  env: { PATH: process.env.PATH, HOME: work, TZ: 'CET-1' },
});
const ended = new Promise((done) => child.on('exit', done));
// Whatever hangs: the step ends, and says so.
const limit = setTimeout(() => { console.error('the browser does not answer'); child.kill('SIGKILL'); process.exit(1); }, 120_000);

let next = 0;
let rest = '';
const waiting = new Map();
const heard = [];
child.stdio[4].on('data', (data) => {
  const parts = (rest + data).split('\0');
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    const asked = waiting.get(message.id);
    if (!asked) { heard.push(message); continue; }
    waiting.delete(message.id);
    message.error ? asked.reject(new Error(JSON.stringify(message.error))) : asked.resolve(message.result);
  }
});
const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
  const id = ++next;
  waiting.set(id, { resolve, reject });
  child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
});

const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
const call = (method, params) => send(method, params, sessionId);
const ask = async (expression) => {
  const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  return result.value;
};
const until = async (what, expression) => {
  for (let turn = 0; turn < 1200; turn++) {
    if (await ask(expression)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`in vain: ${what}`);
};
for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await call(`${domain}.enable`);
const open = async (width, height, scheme, scripts = true) => {
  await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  await call('Emulation.setScriptExecutionDisabled', { value: !scripts });
  await call('Page.navigate', { url });
  // With the address: the page before may still be there.
  await until('the page is there', `location.href === ${JSON.stringify(url)} && document.readyState === "complete"`);
};
const shoot = async (name, whole = true) => {
  if (!shots) return;
  const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole });
  writeFileSync(join(shots, `${name}.png`), Buffer.from(data, 'base64'));
};
const filter = (words, agent) => ask(`(() => {
  const find = document.getElementById('find'), who = document.getElementById('who');
  find.value = ${JSON.stringify(words)};
  who.value = ${agent === '' ? "''" : `Array.from(who.options).find((option) => option.text === ${JSON.stringify(agent)}).value`};
  who.dispatchEvent(new Event('change'));
  return Array.from(document.querySelectorAll('.row')).filter((row) => row.checkVisibility()).length;
})()`);

// Light, wide: all of it is there, and its script and its style are applied.
await open(1280, 900, 'light');
assert.equal(await ask('getComputedStyle(document.body).backgroundColor'), 'rgb(245, 246, 248)', 'the style is applied');
assert.equal(await ask('document.getElementById("filter").hidden'), false, 'the script has run');
assert.equal(await ask('window.hacked'), undefined, 'nothing of a message is obeyed');
assert.equal(await ask('document.querySelectorAll("img, iframe, link, object, embed, form").length'), 0);
assert.equal(await ask('document.querySelectorAll("main section[id]").length'), 6);
await shoot('light');

// The filter finds what it should, and nothing else; a search of nothing shows everything.
const all = await filter('', '');
const ofBob = await filter('', 'Bob');
const few = await filter('ten minutes', '');
assert.ok(all > ofBob && ofBob > few && few >= 1, `${all} ${ofBob} ${few}`);
assert.match(await ask('document.getElementById("said").textContent'), /^1 of \d+ entries$/);
assert.equal(await filter('nobody ever wrote this', ''), 0);
assert.ok(await ask('Array.from(document.querySelectorAll(".none")).some((none) => none.checkVisibility())'));
assert.equal(await filter('', ''), all);
await call('Input.dispatchKeyEvent', { type: 'keyDown', key: '/', text: '/' });
await until('`/` leads to the search', 'document.activeElement.id === "find"');
assert.equal(await ask('document.getElementById("find").value'), '');
await call('Input.insertText', { text: 'red' });
await until('what is typed is looked for', '/^\\d+ of/.test(document.getElementById("said").textContent)');
await call('Input.dispatchKeyEvent', { type: 'keyDown', key: 'Escape' });
await until('Escape shows everything', 'document.getElementById("said").textContent === ""');

// Every text can be read: the contrast of WCAG AA, light and dark. Nothing is wider than the screen, down to 320 pixels.
const contrasts = `(() => {
  const channels = (color) => { const canvas = new OffscreenCanvas(1, 1).getContext('2d'); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return Array.from(canvas.getImageData(0, 0, 1, 1).data); };
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (node) => { for (; node; node = node.parentElement) { const c = channels(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
  const low = new Set();
  for (const node of document.querySelectorAll('body *')) {
    const own = Array.from(node.childNodes).some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest('svg, script, .skip, .hide')) continue;
    const [a, b] = [light(channels(getComputedStyle(node).color).slice(0, 3)), light(ground(node).slice(0, 3))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.add(node.className + ' ' + node.tagName + ' ' + ratio.toFixed(2));
  }
  return Array.from(low);
})()`;
const overflow = '(() => { const wide = document.documentElement.scrollWidth, room = document.documentElement.clientWidth; return wide > room ? Array.from(document.querySelectorAll("body *")).filter((node) => node.getBoundingClientRect().right > room + 1 && !node.closest(".hide, svg svg")).map((node) => node.tagName + "." + node.className).slice(0, 5) : []; })()';
for (const scheme of ['light', 'dark']) {
  for (const [width, height] of [[320, 640], [390, 844], [768, 1024], [1280, 900], [2200, 1200]]) {
    await open(width, height, scheme);
    assert.deepEqual(await ask(contrasts), [], `${scheme}: too little contrast`);
    assert.deepEqual(await ask(overflow), [], `${scheme}, ${width} pixels: wider than the screen`);
    if (width === 390 || width === 1280) await shoot(`${scheme}-${width}`);
  }
}

// It prints, and it is whole without its script.
await open(1280, 900, 'dark', false);
const { data } = await call('Page.printToPDF', { printBackground: true });
assert.ok(Buffer.from(data, 'base64').subarray(0, 5).toString() === '%PDF-');
if (shots) writeFileSync(join(shots, 'print.pdf'), Buffer.from(data, 'base64'));

// The console is silent, and nothing but the file itself was asked for.
const told = heard.filter(({ method }) => ['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'].includes(method));
assert.deepEqual(told.map(({ params }) => params), [], 'the console');
const asked = heard.filter(({ method }) => method === 'Network.requestWillBeSent').map(({ params }) => params.request.url);
assert.deepEqual(Array.from(new Set(asked)), [url], 'what the page loads');

await send('Browser.close');
await ended;
clearTimeout(limit);
console.log(`an exported page in Chromium: ${all} entries, light and dark, from 320 to 2200 pixels, without a word on the console`);
