#pragma once
// A small map that keeps the order of insertion: libtorch's OrderedDict.
//
//   for (const auto& item : net->named_parameters()) std::cout << item.key() << item.value().sizes();

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/error.h"

namespace tailor {

template <class Key, class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, const Value& value) : key_(std::move(key)), value_(value) {}
    const Key& key() const { return key_; }
    Value& value() { return value_; }
    const Value& value() const { return value_; }
    Value& operator*() { return value_; }
    const Value& operator*() const { return value_; }
    Value* operator->() { return &value_; }
    const Value* operator->() const { return &value_; }
    std::pair<Key, Value> pair() const { return {key_, value_}; }

   private:
    Key key_;
    Value value_;
  };

  OrderedDict() : OrderedDict("Key") {}
  /// What a key is called in errors.
  explicit OrderedDict(std::string key_description) : description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<std::pair<Key, Value>> items) : OrderedDict("Key") {
    for (const auto& [key, value] : items) insert(key, value);
  }

  void reserve(size_t n) {
    items_.reserve(n);
    index_.reserve(n);
  }
  /// Throws Error for a key that is there.
  Value& insert(Key key, const Value& value) {
    check(!index_.contains(key), description_, " '", key, "' already defined");
    index_.emplace(key, items_.size());
    items_.emplace_back(std::move(key), value);
    return items_.back().value();
  }
  Value* find(const Key& key) {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items_[it->second].value();
  }
  const Value* find(const Key& key) const { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const { return index_.contains(key); }
  /// Throws Error for a key that is not there.
  Value& operator[](const Key& key) {
    Value* found = find(key);
    check(found != nullptr, description_, " '", key, "' is not defined");
    return *found;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
  Item& operator[](size_t i) { return items_.at(i); }
  const Item& operator[](size_t i) const { return items_.at(i); }
  void erase(const Key& key) {
    const auto it = index_.find(key);
    check(it != index_.end(), description_, " '", key, "' doesn't exist");
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(it->second));
    index_.clear();
    for (size_t i = 0; i < items_.size(); ++i) index_.emplace(items_[i].key(), i);
  }
  void clear() {
    items_.clear();
    index_.clear();
  }
  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const Item& front() const { return items_.front(); }
  const Item& back() const { return items_.back(); }
  const std::vector<Item>& items() const { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> list;
    for (const Item& item : items_) list.push_back(item.key());
    return list;
  }
  std::vector<Value> values() const {
    std::vector<Value> list;
    list.reserve(items_.size());
    for (const Item& item : items_) list.push_back(item.value());
    return list;
  }

 private:
  std::string description_;
  std::vector<Item> items_;
  std::unordered_map<Key, size_t> index_;
};

}  // namespace tailor
