// Package web is the HTTP side of Stepscope: the server with its security
// rules, the pages, the JSON API and the built browser assets.
//
// It is the only package that imports echo, so that a move to another router
// touches one folder. Pages are rendered by package views from plain values;
// this package fetches those values and decides who may read and write them.
package web
