def hello():
    print("utils says hello")
