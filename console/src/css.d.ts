// Style sheets are imported for their effect; the bundler takes care of them.
declare module '*.css';
