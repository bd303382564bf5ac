// The console: starts in the browser.
import './style/index.css';
import './theme.ts';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import { useHashLocation } from 'wouter-preact/use-hash-location';
import { App } from './app.tsx';
import { queries } from './reading.ts';
import { start } from './session.ts';
import { Guard } from './ui/guard.tsx';

void start();
render(
  <QueryClientProvider client={queries}>
    <Router hook={useHashLocation}>
      <Guard>
        <App />
      </Guard>
    </Router>
  </QueryClientProvider>,
  document.getElementById('app') as HTMLElement,
);
